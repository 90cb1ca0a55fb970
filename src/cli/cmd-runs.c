/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/history-verb.h"
#include "view/table.h"
#include "view/units.h"

enum { RUNS_DEFAULT = 20 };

static int add_row(struct table *table, const struct run_record *record)
{
	bool ran = record->ended && !record->error;
	char time[TIME_TEXT_MAX], span[UNITS_MAX], memory[UNITS_MAX], refused[32];
	const char *cells[] = {
		record->id,
		time_format(record->started_ms, time),
		run_record_state(record),
		ran ? units_ms(record->duration_ms, span) : "-",
		units_bytes(ran ? record->usage.memory_peak : UINT64_MAX, memory),
		refused,
		run_record_name(record),
	};
	int r = 0;

	snprintf(refused, sizeof(refused), record->observed ? "%" PRIu64 : "-", record->violations);
	for (size_t i = 0; i < array_len(cells) && r == 0; i++)
		r = table_add(table, cells[i]);
	return r;
}

static int list_text(const struct run_record *records, size_t len)
{
	static const char *const heads[] = {"RUN",    "STARTED", "OUTCOME", "TOOK",
					    "MEMORY", "REFUSED", "COMMAND", NULL};
	_cleanup_(table_release) struct table table = {.heads = heads, .columns = 7};
	_cleanup_(str_release) struct str out = {0};
	int r = 0;

	table_fit(&table);
	for (size_t i = 0; i < len && r == 0; i++)
		r = add_row(&table, &records[i]);
	if (r == 0)
		r = len > 0 ? table_print(&table, &out) : str_append(&out, "no runs\n");
	return r < 0 ? report_oom() : emit(&out);
}

static int list_ids(const struct run_record *records, size_t len)
{
	_cleanup_(str_release) struct str out = {0};
	int r = 0;

	for (size_t i = 0; i < len && r == 0; i++)
		r = str_appendf(&out, "%s\n", records[i].id);
	return r < 0 ? report_oom() : emit(&out);
}

static int list_json(const struct run_record *records, size_t len)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};

	json_begin_array(&json, NULL);
	for (size_t i = 0; i < len; i++)
		run_record_json(&records[i], &json);
	json_end_array(&json);
	return emit_json(&json);
}

static int parse_outcome(const char *text, struct runs_query *query, struct err *err)
{
	query->outcome = -1;
	if (!text)
		return 0;
	query->unended = str_eq(text, "running") || str_eq(text, "unknown");
	for (int i = 0; i < OUTCOMES_MAX; i++)
		if (str_eq(outcome_name((enum outcome)i), text))
			query->outcome = i;
	if (query->unended || query->outcome >= 0)
		return 0;
	err_set(err, ERR_USAGE, -EINVAL, "--outcome: \"%.40s\" is none", text);
	return err_hint(err, -EINVAL,
			"ok, failed, signaled, timeout, oom, limit, refused, error, running or "
			"unknown");
}

/* Whether a run goes on is not in the database. */
static size_t keep_state(struct run_record *records, size_t len, const char *state, size_t max)
{
	size_t kept = 0;

	for (size_t i = 0; i < len; i++) {
		if ((max && kept == max) || !str_eq(run_record_state(&records[i]), state)) {
			run_record_release(&records[i]);
			continue;
		}
		records[kept++] = records[i];
	}
	return kept;
}

int cmd_runs_list(int argc, char **argv)
{
	_cleanup_(history_verb_release) struct history_verb verb = {0};
	struct runs_query query = RUNS_QUERY_ALL;
	struct run_record *records = NULL;
	struct err err = {0};
	const char *outcome;
	size_t len = 0, max;
	int r = history_verb_begin(VERB_RUNS_LIST, argc, argv, &verb, &err);

	if (r > 0)
		return STATUS_OK;
	outcome = verb.args.values[OPT_OUTCOME];
	query.command = verb.args.values[OPT_COMMAND];
	if (r == 0)
		r = parse_outcome(outcome, &query, &err);
	if (r == 0)
		r = history_time("--since", verb.args.values[OPT_SINCE], &query.since_ms, &err);
	if (r == 0)
		r = history_number(verb.args.values[OPT_NUMBER], RUNS_DEFAULT, &max, &err);
	if (r == 0 && verb.store) {
		query.max = query.unended ? 0 : max;
		r = store_runs(verb.store, &query, &records, &len, &err);
	}
	if (r < 0)
		return report(&err);
	if (query.unended)
		len = keep_state(records, len, outcome, max);
	r = verb.args.values[OPT_JSON]    ? list_json(records, len)
	    : verb.args.values[OPT_NAMES] ? list_ids(records, len)
					  : list_text(records, len);
	run_records_free(records, len);
	return r;
}

static int say_pruned(uint64_t n, bool dry, bool as_json)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};
	const char *deed = dry ? "would be forgotten" : n == 1 ? "is forgotten" : "are forgotten";

	if (!as_json)
		return str_appendf(&out, "%" PRIu64 " run%s %s\n", n, n == 1 ? "" : "s", deed) < 0
			       ? report_oom()
			       : emit(&out);
	json_begin_object(&json, NULL);
	json_add_uint(&json, "runs", n);
	json_add_bool(&json, "dry_run", dry);
	json_end_object(&json);
	return emit_json(&json);
}

int cmd_runs_prune(int argc, char **argv)
{
	_cleanup_(history_verb_release) struct history_verb verb = {0};
	struct err err = {0};
	uint64_t before = 0, n = 0;
	const char *age;
	bool dry;
	int r = history_verb_begin(VERB_RUNS_PRUNE, argc, argv, &verb, &err);

	if (r > 0)
		return STATUS_OK;
	age = verb.args.values[OPT_OLDER_THAN];
	dry = verb.args.values[OPT_DRY_RUN] != NULL;
	if (r == 0 && !age) {
		r = err_set(&err, ERR_USAGE, -EINVAL, "runs prune: how old?");
		err_hint(&err, r, "pale runs prune --older-than 30d");
	}
	if (r == 0)
		r = history_time("--older-than", age, &before, &err);
	if (r == 0 && verb.store)
		r = store_prune(verb.store, before, dry, &n, &err);
	return r < 0 ? report(&err) : say_pruned(n, dry, verb.args.values[OPT_JSON] != NULL);
}
