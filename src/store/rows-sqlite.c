/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "store/fold-impl.h"

/* An event's place among those of its run: the same record gives the same places, so a
 * fold that is repeated adds nothing. */
enum {
	SEQ_START = 0,
	SEQ_EXIT = 1,
	SEQ_LIMIT = 2,
	SEQ_NET_LIMIT = 3,
	SEQ_DEGRADED = 100,
	SEQ_TAMPER = 1000,
	SEQ_DENIED = 2000
};

#define RUN_COLUMNS                                                                                \
	"id, started_ms, pid, ended, command, program, argv_digest, argv, engine, mode, stage, "   \
	"world, ceiling, spec_digest, timeout_ms, cpu_limit_ms, memory_limit, pids_limit, "        \
	"outcome, error, exit_code, signal, limit_hit, duration_ms, memory_peak, cpu_ms, "         \
	"pids_peak, written, observed, violations, ended_ms, has_output, connections, net_sent, "  \
	"net_received"
#define RUN_VALUES                                                                                 \
	"?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, "   \
	"?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35"

static const char start_sql[] = "INSERT INTO runs(" RUN_COLUMNS ") VALUES(" RUN_VALUES ") "
				"ON CONFLICT(id) DO NOTHING";
static const char end_sql[] = "INSERT INTO runs(" RUN_COLUMNS ") VALUES(" RUN_VALUES ") "
			      "ON CONFLICT(id) DO UPDATE SET (" RUN_COLUMNS ") = (" RUN_VALUES ")";
static const char event_sql[] =
	"INSERT INTO events(source, seq, run, time_ms, kind, severity, dimension, code, data) "
	"VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT(source, seq) "
	/* told while the run went on; its end knows how often */
	"DO UPDATE SET data = excluded.data WHERE kind = 'sandbox.denied'";

int fold_init(struct fold *f, struct err *err)
{
	int r = db_prepare(f->store, start_sql, &f->start, err);

	if (r == 0)
		r = db_prepare(f->store, end_sql, &f->end, err);
	return r < 0 ? r : db_prepare(f->store, event_sql, &f->event, err);
}

void fold_release(struct fold *f)
{
	sqlite3_finalize(f->start);
	sqlite3_finalize(f->end);
	sqlite3_finalize(f->event);
}

static int step(struct fold *f, sqlite3_stmt *stmt, struct err *err)
{
	int r = db_step(f->store, stmt, err);

	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt);
	return r < 0 ? r : 0;
}

/* --- what a record says --- */

static int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
}

char *record_bytes(const json_t *record, const char *key, size_t *ret_len)
{
	const json_t *value = json_object_get(record, key);
	char hex_key[64];
	const char *hex;
	char *bytes;
	size_t len;

	if (json_is_string(value)) {
		*ret_len = json_string_length(value);
		return strdup(json_string_value(value));
	}
	snprintf(hex_key, sizeof(hex_key), "%s_hex", key);
	value = json_object_get(record, hex_key);
	hex = json_string_value(value);
	len = json_string_length(value) / 2;
	bytes = hex ? malloc(len + 1) : NULL;
	if (!bytes)
		return NULL;
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(nibble(hex[2 * i]) << 4 | nibble(hex[2 * i + 1]));
	bytes[len] = '\0';
	*ret_len = len;
	return bytes;
}

/* Text as text, what was in hex as bytes; NULL when there is neither. */
static void bind(sqlite3_stmt *stmt, int i, const json_t *record, const char *key)
{
	size_t len;
	char *bytes = record_bytes(record, key, &len);

	if (!bytes)
		return;
	if (json_object_get(record, key))
		sqlite3_bind_text64(stmt, i, bytes, len, free, SQLITE_UTF8);
	else
		sqlite3_bind_blob64(stmt, i, bytes, len, free);
}

/* Nothing when it is not there, or no number that makes sense. */
static void bind_number(sqlite3_stmt *stmt, int i, const json_t *record, const char *key)
{
	const json_t *value = json_object_get(record, key);

	if (json_is_integer(value))
		sqlite3_bind_int64(stmt, i, json_integer_value(value));
}

static bool is_known_outcome(const char *name)
{
	for (int i = 0; name && i < OUTCOMES_MAX; i++)
		if (str_eq(outcome_name((enum outcome)i), name))
			return true;
	return false;
}

/* What a reader relies on. */
static bool is_valid_run(const json_t *record, bool ended)
{
	const char *id = json_string_value(json_object_get(record, "run"));
	const json_t *started = json_object_get(record, "started_ms");

	if (!id || !*id || strlen(id) >= RUN_ID_MAX || !json_is_integer(started) ||
	    json_integer_value(started) < 0)
		return false;
	return !ended || (is_known_outcome(json_string_value(json_object_get(record, "outcome"))) &&
			  json_is_integer(json_object_get(record, "ended_ms")) &&
			  json_is_integer(json_object_get(record, "exit_code")));
}

/* Also of a dishonest record: no sum goes past what a column holds. */
static int64_t count_violations(const json_t *record)
{
	json_int_t sum = json_integer_value(json_object_get(record, "violations_dropped"));
	const json_t *item;
	size_t i;

	sum = sum < 0 ? 0 : sum;
	json_array_foreach(json_object_get(record, "violations"), i, item)
	{
		json_int_t n = json_integer_value(json_object_get(item, "count"));

		if (n > 0 && __builtin_add_overflow(sum, n, &sum))
			return INT64_MAX;
	}
	return sum;
}

static void bind_identity(sqlite3_stmt *stmt, const json_t *record)
{
	static const struct {
		int i;
		const char *key;
	} texts[] = {{1, "run"},    {5, "command"},     {6, "program"}, {7, "argv_digest"},
		     {8, "argv"},   {9, "engine"},      {10, "mode"},   {11, "stage"},
		     {12, "world"}, {14, "spec_digest"}},
	  numbers[] = {{2, "started_ms"},  {3, "pid"},           {13, "ceiling"},
		       {15, "timeout_ms"}, {16, "cpu_limit_ms"}, {17, "memory_limit"},
		       {18, "pids_limit"}};

	for (size_t i = 0; i < array_len(texts); i++)
		bind(stmt, texts[i].i, record, texts[i].key);
	for (size_t i = 0; i < array_len(numbers); i++)
		bind_number(stmt, numbers[i].i, record, numbers[i].key);
}

static void bind_end(sqlite3_stmt *stmt, const json_t *record)
{
	static const struct {
		int i;
		const char *key;
	} numbers[] = {{21, "exit_code"},   {22, "signal"},      {24, "duration_ms"},
		       {25, "memory_peak"}, {26, "cpu_ms"},      {27, "pids_peak"},
		       {28, "written"},     {31, "ended_ms"},    {33, "connections"},
		       {34, "net_sent"},    {35, "net_received"}};

	bind(stmt, 19, record, "outcome");
	bind(stmt, 20, record, "error");
	bind(stmt, 23, record, "limit");
	for (size_t i = 0; i < array_len(numbers); i++)
		bind_number(stmt, numbers[i].i, record, numbers[i].key);
	sqlite3_bind_int(stmt, 29, json_is_array(json_object_get(record, "violations")));
	sqlite3_bind_int64(stmt, 30, count_violations(record));
	sqlite3_bind_int(stmt, 32, json_is_true(json_object_get(record, "has_output")));
}

/* --- events --- */

struct row {
	int seq;
	const char *time_key; /* where the record says when */
	const char *kind, *severity, *dimension, *code;
	const json_t *data; /* an object, or NULL */
};

static int add_event(struct fold *f, const json_t *record, const struct row *row, struct err *err)
{
	char *data = row->data ? json_dumps(row->data, JSON_COMPACT) : NULL;
	sqlite3_stmt *stmt = f->event;

	if (row->data && !data)
		return err_oom(err);
	bind(stmt, 1, record, "run");
	sqlite3_bind_int(stmt, 2, row->seq);
	bind(stmt, 3, record, "run");
	bind_number(stmt, 4, record, row->time_key);
	db_bind_text(stmt, 5, row->kind);
	db_bind_text(stmt, 6, row->severity);
	db_bind_text(stmt, 7, row->dimension);
	db_bind_text(stmt, 8, row->code);
	if (data)
		sqlite3_bind_text64(stmt, 9, data, strlen(data), free, SQLITE_UTF8);
	return step(f, stmt, err);
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static int add_list(struct fold *f, const json_t *record, const char *list, struct row row,
		    struct err *err)
{
	const char *code_key = row.code, *fixed = row.dimension, *severity = row.severity;
	const json_t *item;
	size_t i;
	int r = 0;

	json_array_foreach(json_object_get(record, list), i, item)
	{
		bool is_name = json_is_string(item);

		if (i >= 512 || r < 0 || (!is_name && !json_is_object(item)))
			break;
		row.dimension = is_name ? json_string_value(item)
				: fixed ? fixed
					: text_of(item, "dimension");
		row.code = is_name ? NULL : text_of(item, code_key);
		/* Programs try such things as a matter of course. */
		row.severity = str_eq(text_of(item, "weight"), "probe") ? "info" : severity;
		row.data = is_name ? NULL : item;
		r = add_event(f, record, &row, err);
		row.seq++;
	}
	return r;
}

static const char *exit_severity(const char *outcome)
{
	if (str_eq(outcome, "ok"))
		return "info";
	return str_eq(outcome, "refused") || str_eq(outcome, "error") ? "error" : "warning";
}

static int add_exit(struct fold *f, const json_t *record, struct err *err)
{
	static const char *const keys[] = {"exit_code", "signal", "duration_ms", "error"};
	const char *outcome = text_of(record, "outcome");
	json_t *data = json_object();
	int r;

	for (size_t i = 0; data && i < array_len(keys); i++) {
		json_t *value = json_object_get(record, keys[i]);

		if (value)
			json_object_set(data, keys[i], value);
	}
	r = add_event(f, record,
		      &(struct row){.seq = SEQ_EXIT,
				    .time_key = "ended_ms",
				    .kind = "sandbox.exit",
				    .severity = exit_severity(outcome),
				    .code = outcome,
				    .data = data},
		      err);
	json_decref(data);
	return r;
}

static int add_limit(struct fold *f, const json_t *record, struct err *err)
{
	const char *outcome = text_of(record, "outcome"), *limit = text_of(record, "limit");
	const char *network = text_of(record, "net_limit");
	bool timed_out = str_eq(outcome, "timeout");
	struct row row = {.time_key = "ended_ms", .kind = "sandbox.limit", .severity = "warning"};
	int r = 0;

	if (limit || timed_out) {
		row.seq = SEQ_LIMIT;
		row.dimension = limit ? limit : "timeout";
		row.code = outcome;
		r = add_event(f, record, &row, err);
	}
	if (r < 0 || !network)
		return r;
	/* It ended no run: what was over it was refused. */
	row.seq = SEQ_NET_LIMIT;
	row.dimension = network;
	row.code = "refused";
	return add_event(f, record, &row, err);
}

/* Those of RECORD, which are the NUMBERth and further ones of its run. */
static int add_denied(struct fold *f, const json_t *record, int number, const char *time_key,
		      struct err *err)
{
	return add_list(f, record, "violations",
			(struct row){.seq = SEQ_DENIED + number,
				     .time_key = time_key,
				     .kind = "sandbox.denied",
				     .severity = "warning",
				     .code = "op"},
			err);
}

/* --- records --- */

static int fold_denied(struct fold *f, const json_t *record, struct err *err)
{
	const char *run = text_of(record, "run");
	json_int_t number = json_integer_value(json_object_get(record, "number"));

	if (!run || !*run || strlen(run) >= RUN_ID_MAX || number < 0 || number >= VIOLATIONS_MAX ||
	    !json_is_integer(json_object_get(record, "time_ms")))
		return -EBADMSG;
	return add_denied(f, record, (int)number, "time_ms", err);
}

static int fold_start(struct fold *f, const json_t *record, struct err *err)
{
	int r;

	if (!is_valid_run(record, false))
		return -EBADMSG;
	bind_identity(f->start, record);
	sqlite3_bind_int(f->start, 4, 0);
	r = step(f, f->start, err);
	if (r < 0)
		return r;
	return add_event(f, record,
			 &(struct row){.seq = SEQ_START,
				       .time_key = "started_ms",
				       .kind = "sandbox.start",
				       .severity = "info"},
			 err);
}

static int fold_end(struct fold *f, const json_t *record, struct err *err)
{
	int r;

	if (!is_valid_run(record, true))
		return -EBADMSG;
	bind_identity(f->end, record);
	sqlite3_bind_int(f->end, 4, 1);
	bind_end(f->end, record);
	r = step(f, f->end, err);
	if (r == 0)
		r = add_list(f, record, "degraded",
			     (struct row){.seq = SEQ_DEGRADED,
					  .time_key = "started_ms",
					  .kind = "sandbox.degraded",
					  .severity = "notice"},
			     err);
	if (r == 0)
		r = add_denied(f, record, 0, "ended_ms", err);
	if (r == 0)
		r = add_list(f, record, "tamper",
			     (struct row){.seq = SEQ_TAMPER,
					  .time_key = "ended_ms",
					  .kind = "sandbox.tamper",
					  .severity = "critical",
					  .dimension = "filesystem",
					  .code = "action"},
			     err);
	if (r == 0)
		r = add_limit(f, record, err);
	return r < 0 ? r : add_exit(f, record, err);
}

static int fold_deed(struct fold *f, const json_t *record, struct err *err)
{
	static const char *const keys[] = {"stage", "changes", "path", "where"};
	const char *id = text_of(record, "id"), *kind = text_of(record, "kind");
	sqlite3_stmt *stmt = f->event;
	json_t *data;
	char *text;

	if (!id || !*id || !kind || !*kind || !json_is_integer(json_object_get(record, "time_ms")))
		return -EBADMSG;
	data = json_object();
	for (size_t i = 0; data && i < array_len(keys); i++) {
		json_t *value = json_object_get(record, keys[i]);

		if (value)
			json_object_set(data, keys[i], value);
	}
	text = data ? json_dumps(data, JSON_COMPACT) : NULL;
	json_decref(data);
	if (!text)
		return err_oom(err);
	bind(stmt, 1, record, "id");
	sqlite3_bind_int(stmt, 2, 0);
	bind(stmt, 3, record, "run");
	bind_number(stmt, 4, record, "time_ms");
	bind(stmt, 5, record, "kind");
	bind(stmt, 6, record, "severity");
	bind(stmt, 7, record, "dimension");
	bind(stmt, 8, record, "code");
	sqlite3_bind_text64(stmt, 9, text, strlen(text), free, SQLITE_UTF8);
	return step(f, stmt, err);
}

int fold_record(struct fold *f, const char *json, size_t len, struct err *err)
{
	json_t *record = json_loadb(json, len, JSON_REJECT_DUPLICATES, NULL);
	const char *type = text_of(record, "type");
	int r = -EBADMSG;

	if (str_eq(type, "start"))
		r = fold_start(f, record, err);
	else if (str_eq(type, "end"))
		r = fold_end(f, record, err);
	else if (str_eq(type, "denied"))
		r = fold_denied(f, record, err);
	else if (str_eq(type, "event"))
		r = fold_deed(f, record, err);
	json_decref(record);
	return r;
}
