/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/size.h"
#include "cli/commands.h"
#include "cli/history-verb.h"
#include "view/table.h"
#include "view/units.h"

#define OUTPUT_MAX ((size_t)1 << 30)

static int add_fact(struct table *table, const char *head, const char *cell)
{
	int r;

	if (!cell)
		return 0;
	r = table_add(table, head);
	return r < 0 ? r : table_add(table, cell);
}

/* "1.20 MiB of 64m": what was used of what was allowed. */
static const char *of_limit(const char *used, uint64_t limit, bool is_time, char *buf, size_t size)
{
	char text[SIZE_TEXT_MAX];

	if (limit == UINT64_MAX)
		snprintf(buf, size, "%s", used);
	else
		snprintf(buf, size, "%s of %s", used,
			 is_time ? duration_format(limit, text) : size_format(limit, text));
	return buf;
}

static const char *ending(const struct run_record *record, char *buf, size_t size)
{
	const char *state = run_record_state(record);

	if (record->living)
		snprintf(buf, size, "running, pid %d", record->pid);
	else if (!record->ended)
		snprintf(buf, size, "unknown: its end was never seen");
	else if (record->error)
		snprintf(buf, size, "%s: %s", state, record->error);
	else if (record->signal)
		snprintf(buf, size, "%s, signal %d", state, record->signal);
	else if (record->exit_code > 0)
		snprintf(buf, size, "%s, status %d", state, record->exit_code);
	else
		snprintf(buf, size, "%s", state);
	return buf;
}

/* Nothing to say where there was no broker. */
static int put_network(const struct usage *usage, struct table *table)
{
	char sent[UNITS_MAX], received[UNITS_MAX], buf[128];

	if (usage->connections == USAGE_UNKNOWN)
		return 0;
	snprintf(buf, sizeof(buf), "%" PRIu64 " connection%s, %s sent, %s received",
		 usage->connections, usage->connections == 1 ? "" : "s",
		 units_bytes(usage->net_sent, sent), units_bytes(usage->net_received, received));
	return add_fact(table, "network", buf);
}

static int put_usage(const struct run_record *record, struct table *table)
{
	char used[UNITS_MAX], buf[128];
	int r = 0;

	if (!record->ended || record->error)
		return 0;
	r = add_fact(table, "took",
		     of_limit(units_ms(record->duration_ms, used), record->timeout_ms, true, buf,
			      sizeof(buf)));
	if (r == 0 && record->usage.cpu_ms != USAGE_UNKNOWN)
		r = add_fact(table, "cpu",
			     of_limit(units_ms(record->usage.cpu_ms, used), record->cpu_ms, true,
				      buf, sizeof(buf)));
	if (r == 0)
		r = add_fact(table, "memory",
			     of_limit(units_bytes(record->usage.memory_peak, used), record->memory,
				      false, buf, sizeof(buf)));
	if (r == 0)
		r = put_network(&record->usage, table);
	if (r == 0)
		r = add_fact(table, "limit reached", record->limit);
	return r;
}

static int put_facts(const struct run_record *record, struct str *out)
{
	_cleanup_(table_release) struct table table = {.columns = 2};
	char time[TIME_TEXT_MAX], end[96], grade[96], boundary[160];
	const char *const what[][2] = {
		{"run", record->id},
		{"command", record->command},
		{"program", record->program},
		{"arguments", record->argv ? record->argv : record->argv_digest},
		{"started", time_format(record->started_ms, time)},
		{"outcome", ending(record, end, sizeof(end))},
	};
	const char *const where[][2] = {
		{"engine", record->engine ? boundary : NULL},
		{"grade", record->world ? grade : NULL},
		{"output", record->has_output ? "kept: --output" : NULL},
	};
	int r = 0;

	table_fit(&table);
	snprintf(grade, sizeof(grade), "%s, ceiling %u", record->world ? record->world : "",
		 record->ceiling);
	snprintf(boundary, sizeof(boundary), "%s, %s%s%s", record->engine ? record->engine : "",
		 record->mode ? record->mode : "", record->stage ? " in " : "",
		 record->stage ? record->stage : "");
	for (size_t i = 0; i < array_len(what) && r == 0; i++)
		r = add_fact(&table, what[i][0], what[i][1]);
	if (r == 0)
		r = put_usage(record, &table);
	for (size_t i = 0; i < array_len(where) && r == 0; i++)
		r = add_fact(&table, where[i][0], where[i][1]);
	return r < 0 ? r : table_print(&table, out);
}

static int put_refused(const struct violations *violations, struct str *out)
{
	static const char *const heads[] = {"REFUSED", "TIMES", "RULE", "WHAT", NULL};
	_cleanup_(table_release) struct table table = {.heads = heads, .columns = 4};
	int r = 0;

	if (violations->len == 0)
		return violations->observed ? str_append(out, "\nnothing was refused\n") : 0;
	table_fit(&table);
	for (size_t i = 0; i < violations->len && r == 0; i++) {
		const struct violation *at = &violations->items[i];
		char count[32];
		const char *cells[] = {at->op, count, at->rule ? at->rule : at->dimension,
				       at->target};

		snprintf(count, sizeof(count), "%" PRIu64, at->count);
		for (size_t k = 0; k < array_len(cells) && r == 0; k++)
			r = table_add(&table, cells[k]);
	}
	if (r == 0)
		r = str_append_char(out, '\n');
	if (r == 0)
		r = table_print(&table, out);
	if (r == 0 && violations->dropped > 0)
		r = str_appendf(out, "and %" PRIu64 " more\n", violations->dropped);
	return r;
}

static int show_json(struct store *store, const struct run_record *record,
		     const struct violations *violations, const struct store_event *events,
		     size_t len)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};

	json_begin_object(&json, NULL);
	run_record_members(record, &json);
	violations_json(violations, &json);
	json_begin_array(&json, "events");
	for (size_t i = 0; i < len; i++)
		event_json(store, &events[i], &json);
	json_end_array(&json);
	json_end_object(&json);
	return emit_json(&json);
}

/* What annotators said, behind a blank line. */
static int put_notes(struct store *store, const struct store_event *events, size_t len,
		     struct str *out)
{
	_cleanup_(str_release) struct str notes = {0};
	int r = 0;

	for (size_t i = 0; i < len && r == 0; i++)
		r = put_annotations(store, &events[i], true, &notes);
	if (r == 0 && notes.len > 0)
		r = str_append_char(out, '\n');
	return r < 0 ? r : str_append_bytes(out, str_text(&notes), notes.len);
}

static int show(struct history_verb *verb, const struct run_record *record, struct err *err)
{
	_cleanup_(violations_release) struct violations violations = {0};
	_cleanup_(str_release) struct str out = {0};
	struct store_event *events = NULL;
	size_t len = 0;
	int r = store_violations(verb->store, record->id, &violations, err);

	if (r == 0)
		r = store_events(verb->store, &(struct events_query){.run = record->id}, &events,
				 &len, err);
	if (r < 0)
		return report(err);
	if (verb->args.values[OPT_JSON])
		r = show_json(verb->store, record, &violations, events, len);
	else if (put_facts(record, &out) < 0 || put_refused(&violations, &out) < 0 ||
		 put_notes(verb->store, events, len, &out) < 0)
		r = report_oom();
	else
		r = emit(&out);
	store_events_free(events, len);
	return r;
}

/* For a terminal, which must not obey what it shows. */
static int put_lines(const struct str *text, struct str *out)
{
	const char *at = str_text(text), *end = at + text->len;
	int r = 0;

	while (at < end && r == 0) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		r = str_append_escaped(out, at, (size_t)((stop ? stop : end) - at));
		if (r == 0 && stop)
			r = str_append_char(out, '\n');
		at = stop ? stop + 1 : end;
	}
	return r;
}

static int show_output(struct history_verb *verb, const struct run_record *record, struct err *err)
{
	_cleanup_(fd_closep) int fd = store_output(verb->store, record->id, err);
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(str_release) struct str out = {0};
	int r;

	if (fd == -ENOENT && !err->message[0]) {
		err_set(err, ERR_USAGE, fd, "no output of run %s is kept", record->id);
		err_hint(err, fd, "it is, for a time, of runs that have max_output");
	}
	if (fd < 0)
		return report(err);
	r = fd_read_all(fd, OUTPUT_MAX, &text);
	if (r < 0) {
		err_sys(err, r, "read the kept output");
		return report(err);
	}
	if (!isatty(STDOUT_FILENO))
		return emit(&text);
	return put_lines(&text, &out) < 0 ? report_oom() : emit(&out);
}

int cmd_show(int argc, char **argv)
{
	_cleanup_(history_verb_release) struct history_verb verb = {0};
	_cleanup_(run_record_release) struct run_record record = {0};
	struct err err = {0};
	int r = history_verb_begin(VERB_SHOW, argc, argv, &verb, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0 && !verb.store)
		r = err_set(&err, ERR_USAGE, -ENOENT, "no run is remembered yet");
	if (r == 0)
		r = store_find_run(verb.store, verb.args.len > 0 ? verb.args.operands[0] : "last",
				   &record, &err);
	if (r < 0)
		return report(&err);
	return verb.args.values[OPT_OUTPUT] ? show_output(&verb, &record, &err)
					    : show(&verb, &record, &err);
}
