/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "store/kept.h"
#include "store/spool.h"
#include "store/store-impl.h"

void run_records_free(struct run_record *records, size_t len)
{
	for (size_t i = 0; i < len; i++)
		run_record_release(&records[i]);
	free(records);
}

static enum outcome outcome_of(const char *name)
{
	for (int i = 0; name && i < OUTCOMES_MAX; i++)
		if (str_eq(outcome_name((enum outcome)i), name))
			return (enum outcome)i;
	return OUTCOME_ERROR;
}

/* In the order of select_sql. */
static void read_run(sqlite3_stmt *stmt, struct run_record *record)
{
	_cleanup_(freep) char *id = db_text(stmt, 0);
	_cleanup_(freep) char *outcome = db_text(stmt, 18);
	char **const texts[] = {&record->command, &record->program, &record->argv_digest,
				&record->argv,    &record->engine,  &record->mode,
				&record->stage,   &record->world};

	run_record_init(record);
	snprintf(record->id, sizeof(record->id), "%s", id ? id : "");
	record->started_ms = db_uint(stmt, 1, 0);
	record->pid = sqlite3_column_int(stmt, 2);
	record->ended = sqlite3_column_int(stmt, 3);
	for (int i = 0; i < (int)array_len(texts); i++)
		*texts[i] = db_text(stmt, 4 + i);
	record->ceiling = (unsigned)db_uint(stmt, 12, 0);
	record->spec_digest = db_text(stmt, 13);
	record->timeout_ms = db_uint(stmt, 14, UINT64_MAX);
	record->cpu_ms = db_uint(stmt, 15, UINT64_MAX);
	record->memory = db_uint(stmt, 16, UINT64_MAX);
	record->pids = db_uint(stmt, 17, UINT64_MAX);
	record->outcome = outcome_of(outcome);
	record->error = db_text(stmt, 19);
	record->exit_code = sqlite3_column_type(stmt, 20) == SQLITE_NULL
				    ? -1
				    : sqlite3_column_int(stmt, 20);
	record->signal = sqlite3_column_int(stmt, 21);
	record->limit = db_text(stmt, 22);
	record->duration_ms = db_uint(stmt, 23, 0);
	record->usage = (struct usage){
		.memory_peak = db_uint(stmt, 24, USAGE_UNKNOWN),
		.cpu_ms = db_uint(stmt, 25, USAGE_UNKNOWN),
		.pids_peak = db_uint(stmt, 26, USAGE_UNKNOWN),
		.written = db_uint(stmt, 27, USAGE_UNKNOWN),
		.connections = db_uint(stmt, 31, USAGE_UNKNOWN),
		.net_sent = db_uint(stmt, 32, USAGE_UNKNOWN),
		.net_received = db_uint(stmt, 33, USAGE_UNKNOWN),
	};
	record->observed = sqlite3_column_int(stmt, 28);
	record->violations = db_uint(stmt, 29, 0);
	record->has_output = sqlite3_column_int(stmt, 30);
}

static const char select_sql[] =
	"SELECT id, started_ms, pid, ended, command, program, argv_digest, argv, engine, mode, "
	"stage, world, ceiling, spec_digest, timeout_ms, cpu_limit_ms, memory_limit, pids_limit, "
	"outcome, error, exit_code, signal, limit_hit, duration_ms, memory_peak, cpu_ms, "
	"pids_peak, written, observed, violations, has_output, connections, net_sent, net_received FROM runs "
	"WHERE (?1 IS NULL OR (id >= ?1 AND id < ?1 || '~')) "
	"AND (?2 IS NULL OR command = ?2 OR program = ?2) "
	"AND (?3 IS NULL OR (ended = 1 AND outcome = ?3)) "
	"AND (?4 = 0 OR ended = 0) AND started_ms >= ?5 "
	"ORDER BY seq DESC LIMIT ?6";

struct records {
	struct run_record *items;
	size_t len, cap;
};

static void records_release(struct records *records)
{
	run_records_free(records->items, records->len);
	*records = (struct records){0};
}

static int add_record(struct records *records, sqlite3_stmt *stmt, struct err *err)
{
	if (records->len == records->cap) {
		size_t cap = records->cap ? records->cap * 2 : 16;
		struct run_record *grown = reallocarray(records->items, cap, sizeof(*grown));

		if (!grown)
			return err_oom(err);
		records->items = grown;
		records->cap = cap;
	}
	read_run(stmt, &records->items[records->len++]);
	return 0;
}

static int select_runs(struct store *store, const struct runs_query *query, struct records *ret,
		       struct err *err)
{
	_cleanup_(stmt_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(store, select_sql, &stmt, err);

	if (r < 0)
		return r;
	db_bind_text(stmt, 1, query->id);
	db_bind_text(stmt, 2, query->command);
	if (query->outcome >= 0)
		db_bind_text(stmt, 3, outcome_name((enum outcome)query->outcome));
	sqlite3_bind_int(stmt, 4, query->unended);
	db_bind_uint(stmt, 5, query->since_ms);
	sqlite3_bind_int64(stmt, 6, query->max ? (int64_t)query->max : -1);
	while ((r = db_step(store, stmt, err)) > 0) {
		r = add_record(ret, stmt, err);
		if (r < 0)
			return r;
	}
	return r;
}

/* Is there one that seems to have ended without a word? */
static bool find_living(const struct store *store, struct records *records)
{
	bool silent = false;

	for (size_t i = 0; i < records->len; i++) {
		struct run_record *record = &records->items[i];

		if (record->ended)
			continue;
		record->living = living_is(store->state, record->id);
		silent = silent || !record->living;
	}
	return silent;
}

int store_runs(struct store *store, const struct runs_query *query, struct run_record **ret_records,
	       size_t *ret_len, struct err *err)
{
	_cleanup_(records_release) struct records records = {0};
	int r = select_runs(store, query, &records, err);

	/* It may have ended while we looked. A run writes its end before it lets go of its
	 * lock, so what is still without one now has none. */
	if (r == 0 && find_living(store, &records)) {
		records_release(&records);
		r = store_refresh(store, err);
		if (r == 0)
			r = select_runs(store, query, &records, err);
		if (r == 0)
			(void)find_living(store, &records);
	}
	if (r < 0)
		return r;
	*ret_len = records.len;
	*ret_records = take_ptr(records.items);
	records.len = 0;
	return 0;
}

static int no_run(const char *which, struct err *err)
{
	if (str_eq(which, "last"))
		err_set(err, ERR_USAGE, -ENOENT, "no run is remembered yet");
	else
		err_set(err, ERR_USAGE, -ENOENT, "there is no run %.64s", which);
	return err_hint(err, -ENOENT, "pale runs lists them");
}

int store_find_run(struct store *store, const char *which, struct run_record *ret, struct err *err)
{
	bool last = str_eq(which, "last");
	struct runs_query query = {.outcome = -1, .id = last ? NULL : which, .max = last ? 1 : 2};
	struct run_record *records = NULL;
	size_t len = 0;
	int r;

	if (!*which)
		return no_run(which, err);
	r = store_runs(store, &query, &records, &len, err);
	if (r < 0)
		return r;
	if (len == 1) {
		*ret = records[0];
		free(records);
		return 0;
	}
	if (len == 0)
		r = no_run(which, err);
	else
		r = err_set(err, ERR_USAGE, -EEXIST, "several runs begin with %s: %s, %s, …", which,
			    records[0].id, records[1].id);
	run_records_free(records, len);
	return r;
}

int store_stats(struct store *store, const char *command, struct run_stats *ret, struct err *err)
{
	_cleanup_(stmt_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(store,
			   "SELECT count(*), coalesce(sum(outcome = 'ok'), 0), "
			   "max(CASE outcome WHEN 'ok' THEN memory_peak END), "
			   "max(CASE outcome WHEN 'ok' THEN cpu_ms END), "
			   "max(CASE outcome WHEN 'ok' THEN duration_ms END), "
			   "CAST(avg(CASE outcome WHEN 'ok' THEN duration_ms END) AS INTEGER) "
			   "FROM runs WHERE command = ?1 AND ended = 1 "
			   "AND outcome NOT IN ('refused', 'error')",
			   &stmt, err);

	if (r < 0)
		return r;
	db_bind_text(stmt, 1, command);
	r = db_step(store, stmt, err);
	if (r < 0)
		return r;
	*ret = (struct run_stats){
		.runs = db_uint(stmt, 0, 0),
		.successful = db_uint(stmt, 1, 0),
		.memory_peak = db_uint(stmt, 2, 0),
		.cpu_ms_peak = db_uint(stmt, 3, 0),
		.duration_ms_longest = db_uint(stmt, 4, 0),
		.duration_ms_average = db_uint(stmt, 5, 0),
	};
	return 0;
}

static int count_outcomes(struct store *store, struct store_counts *counts, struct err *err)
{
	_cleanup_(stmt_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(store, "SELECT ended, outcome, count(*) FROM runs GROUP BY 1, 2", &stmt,
			   err);

	while (r >= 0 && (r = db_step(store, stmt, err)) > 0) {
		_cleanup_(freep) char *name = db_text(stmt, 1);
		uint64_t n = db_uint(stmt, 2, 0);

		counts->runs += n;
		if (sqlite3_column_int(stmt, 0))
			counts->outcomes[outcome_of(name)] += n;
		else
			counts->unended += n;
	}
	return r;
}

static int count_events(struct store *store, struct store_counts *counts, struct err *err)
{
	const struct {
		const char *kind;
		uint64_t *count;
	} kinds[] = {
		{"sandbox.denied", &counts->denied},   {"sandbox.limit", &counts->limits},
		{"sandbox.tamper", &counts->tampered}, {"apply.done", &counts->applied},
		{"stage.discard", &counts->discarded}, {"apply.undo", &counts->undone},
	};
	_cleanup_(stmt_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(store, "SELECT kind, count(*) FROM events GROUP BY kind", &stmt, err);

	while (r >= 0 && (r = db_step(store, stmt, err)) > 0) {
		_cleanup_(freep) char *kind = db_text(stmt, 0);

		for (size_t i = 0; i < array_len(kinds); i++)
			if (str_eq(kind, kinds[i].kind))
				*kinds[i].count = db_uint(stmt, 1, 0);
	}
	return r;
}

int store_counts(struct store *store, struct store_counts *ret, struct err *err)
{
	struct store_counts counts = {0};
	int r = count_outcomes(store, &counts, err);

	if (r == 0)
		r = count_events(store, &counts, err);
	if (r == 0)
		*ret = counts;
	return r;
}

int store_output(struct store *store, const char *id, struct err *err)
{
	return kept_open(store->state, id, err);
}

void store_expire_output(struct store *store, uint64_t before_ms)
{
	if (!store->in_memory)
		kept_expire(store->state, before_ms);
}
