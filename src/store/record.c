/* SPDX-License-Identifier: MIT */
#include "store/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "plan/plan.h"
#include "store/run-record.h"
#include "store/spool.h"

/* What is left of a record for lists: their tails are counted, not said. */
enum { LISTS_MAX = SPOOL_RECORD_MAX - 32 * 1024, EVENTS_SHARE = 64 * 1024 };

const char *const record_causes[] = {
	[CAUSE_READONLY] = "readonly", [CAUSE_HIDDEN] = "hidden",   [CAUSE_PROTECTED] = "protected",
	[CAUSE_NETWORK] = "network",   [CAUSE_SECCOMP] = "seccomp", NULL};
const char *const record_weights[] = {[VIOLATION_PLAIN] = "plain",
				      [VIOLATION_OPTIONAL] = "optional",
				      [VIOLATION_PROBE] = "probe",
				      NULL};

static size_t cut_length(const char *text, size_t max)
{
	size_t len = strnlen(text, max + 1);

	if (len <= max)
		return len;
	for (len = max; len > max - 4 && ((unsigned char)text[len] & 0xc0) == 0x80;)
		len--;
	return len;
}

static void add_hex(struct json *json, const char *key, const char *text, size_t len)
{
	_cleanup_(str_release) struct str hex = {0};
	char name[64];

	snprintf(name, sizeof(name), "%s_hex", key);
	for (size_t i = 0; i < len && json->error == 0; i++)
		json->error = str_appendf(&hex, "%02x", (unsigned char)text[i]);
	json_add_string(json, name, str_text(&hex));
}

void record_text(struct json *json, const char *key, const char *text)
{
	_cleanup_(freep) char *copy = NULL;
	size_t len;

	if (!text)
		return;
	len = cut_length(text, RECORD_TEXT_MAX);
	if (!str_is_utf8(text, len)) {
		add_hex(json, key, text, len);
		return;
	}
	if (!text[len]) {
		json_add_string(json, key, text);
		return;
	}
	copy = str_printf("%.*s…", (int)len, text);
	json_add_string(json, key, copy);
}

static void add_number(struct json *json, const char *key, uint64_t value)
{
	if (value != UINT64_MAX)
		json_add_uint(json, key, value);
}

static void add_identity(const struct run_record *record, struct json *json)
{
	json_add_string(json, "run", record->id);
	json_add_uint(json, "started_ms", record->started_ms);
	json_add_int(json, "pid", record->pid);
	record_text(json, "command", record->command);
	record_text(json, "program", record->program);
	record_text(json, "argv_digest", record->argv_digest);
	if (record->argv)
		json_add_string(json, "argv", record->argv);
	record_text(json, "engine", record->engine);
	record_text(json, "mode", record->mode);
	record_text(json, "stage", record->stage);
	record_text(json, "world", record->world);
	json_add_uint(json, "ceiling", record->ceiling);
	record_text(json, "spec_digest", record->spec_digest);
	add_number(json, "timeout_ms", record->timeout_ms);
	add_number(json, "cpu_limit_ms", record->cpu_ms);
	add_number(json, "memory_limit", record->memory);
	add_number(json, "pids_limit", record->pids);
}

static int finish(struct json *json, struct str *line)
{
	int r;

	json_end_object(json);
	r = json_finish(json);
	return r < 0 ? r : spool_line_end(line);
}

static int begin(struct json *json, const char *type, struct str *line)
{
	int r = spool_line_begin(line);

	json_begin_object(json, NULL);
	json_add_string(json, "type", type);
	return r;
}

int record_start(const struct run_record *record, struct str *ret_line)
{
	struct json json = {.out = ret_line};
	int r = begin(&json, "start", ret_line);

	if (r < 0)
		return r;
	add_identity(record, &json);
	return finish(&json, ret_line);
}

/* What stands between the type and the end of START. */
static void add_again(const struct str *start, struct json *json)
{
	static const char tail[] = "}\n";
	const char *at = strstr(start->data, ",\"run\":");
	size_t len = at ? strlen(at) - (sizeof(tail) - 1) : 0;

	if (json->error == 0)
		json->error = str_append_bytes(json->out, at, len);
}

static void add_outcome(const struct run_record *record, uint64_t time_ms, struct json *json)
{
	json_add_uint(json, "ended_ms", time_ms);
	json_add_string(json, "outcome", outcome_name(record->outcome));
	record_text(json, "error", record->error);
	json_add_int(json, "exit_code", record->exit_code);
	json_add_int(json, "signal", record->signal);
	record_text(json, "limit", record->limit);
	json_add_uint(json, "duration_ms", record->duration_ms);
	add_number(json, "memory_peak", record->usage.memory_peak);
	add_number(json, "cpu_ms", record->usage.cpu_ms);
	add_number(json, "pids_peak", record->usage.pids_peak);
	add_number(json, "written", record->usage.written);
	add_number(json, "connections", record->usage.connections);
	add_number(json, "net_sent", record->usage.net_sent);
	add_number(json, "net_received", record->usage.net_received);
	record_text(json, "net_limit", record->net_limit);
	json_add_bool(json, "has_output", record->has_output);
}

static void add_degraded(const struct plan *plan, struct json *json)
{
	json_begin_array(json, "degraded");
	for (size_t i = 0; plan && i < plan->verdicts_len; i++)
		if (plan->verdicts[i].state == DEGRADED)
			json_add_string(json, NULL, plan->verdicts[i].dimension);
	json_end_array(json);
}

static void add_tampering(const struct events *events, size_t max, struct json *json)
{
	uint64_t dropped = events->dropped;

	json_begin_array(json, "tamper");
	for (size_t i = 0; i < events->len; i++) {
		const struct event *event = &events->items[i];

		if (json->out->len > max) {
			dropped += events->len - i;
			break;
		}
		json_begin_object(json, NULL);
		record_text(json, "path", event->path);
		json_add_string(json, "action", tamper_action_name(event->action));
		record_text(json, "where", event->where);
		record_text(json, "reason", event->reason);
		json_add_uint(json, "window_us", event->window_us);
		json_end_object(json);
	}
	json_end_array(json);
	json_add_uint(json, "tamper_dropped", dropped);
}

static void add_violation(const struct violation *violation, struct json *json)
{
	json_begin_object(json, NULL);
	json_add_string(json, "dimension", violation->dimension);
	json_add_string(json, "op", violation->op);
	record_text(json, "target", violation->target);
	record_text(json, "program", violation->program);
	record_text(json, "name", violation->name);
	record_text(json, "address", violation->address);
	if (violation->port)
		json_add_uint(json, "port", violation->port);
	record_text(json, "rule", violation->rule);
	/* Half of a command is none. */
	if (violation->fix && strlen(violation->fix) <= RECORD_TEXT_MAX)
		record_text(json, "fix", violation->fix);
	json_add_string(json, "cause", record_causes[violation->cause]);
	json_add_string(json, "weight", record_weights[violation->weight]);
	json_add_uint(json, "count", violation->count);
	json_add_uint(json, "first_ms", violation->first_ms);
	json_add_uint(json, "last_ms", violation->last_ms);
	json_end_object(json);
}

static void add_violations(const struct violations *violations, size_t max, struct json *json)
{
	uint64_t dropped = violations->dropped;

	json_begin_array(json, "violations");
	for (size_t i = 0; i < violations->len; i++) {
		if (json->out->len <= max)
			add_violation(&violations->items[i], json);
		else
			dropped += violations->items[i].count;
	}
	json_end_array(json);
	json_add_uint(json, "violations_dropped", dropped);
}

int record_end(const struct run_record *record, uint64_t time_ms, const struct plan *plan,
	       const struct events *events, const struct violations *violations,
	       const struct str *start, struct str *ret_line)
{
	struct json json = {.out = ret_line};
	int r = begin(&json, "end", ret_line);

	if (r < 0)
		return r;
	if (start && start->len > 0)
		add_again(start, &json);
	else
		add_identity(record, &json);
	add_outcome(record, time_ms, &json);
	add_degraded(plan, &json);
	if (events && events->len > 0)
		add_tampering(events, ret_line->len + EVENTS_SHARE, &json);
	if (violations && violations->observed)
		add_violations(violations, LISTS_MAX, &json);
	return finish(&json, ret_line);
}

int record_denied(const char *run, const struct violations *found, const struct violation *new,
		  uint64_t time_ms, struct str *ret_line)
{
	struct json json = {.out = ret_line};
	int r = begin(&json, "denied", ret_line);

	if (r < 0)
		return r;
	json_add_string(&json, "run", run);
	json_add_uint(&json, "time_ms", time_ms);
	json_add_uint(&json, "number", (uint64_t)(new - found->items));
	json_begin_array(&json, "violations");
	add_violation(new, &json);
	json_end_array(&json);
	return finish(&json, ret_line);
}

int record_deed(const struct deed *deed, struct str *ret_line)
{
	struct json json = {.out = ret_line};
	int r = begin(&json, "event", ret_line);

	if (r < 0)
		return r;
	json_add_string(&json, "id", deed->id);
	record_text(&json, "run", deed->run);
	json_add_uint(&json, "time_ms", deed->time_ms);
	record_text(&json, "kind", deed->kind);
	record_text(&json, "severity", deed->severity);
	record_text(&json, "dimension", deed->dimension);
	record_text(&json, "code", deed->code);
	record_text(&json, "stage", deed->stage);
	record_text(&json, "path", deed->path);
	record_text(&json, "where", deed->where);
	json_add_uint(&json, "changes", deed->changes);
	return finish(&json, ret_line);
}

static void add_arg(struct json *json, const char *arg)
{
	size_t len = strlen(arg);

	if (str_is_utf8(arg, len)) {
		json_add_string(json, NULL, arg);
		return;
	}
	json_begin_object(json, NULL);
	add_hex(json, "arg", arg, len);
	json_end_object(json);
}

char *record_argv(char *const *argv)
{
	_cleanup_(str_release) struct str text = {0};
	struct json json = {.out = &text};
	size_t left = 0;

	json_begin_array(&json, NULL);
	for (; *argv; argv++) {
		if (left > 0 || text.len + 6 * strlen(*argv) > RECORD_ARGV_MAX)
			left++;
		else
			add_arg(&json, *argv);
	}
	if (left > 0) {
		char more[64];

		snprintf(more, sizeof(more), "… %zu more", left);
		json_add_string(&json, NULL, more);
	}
	json_end_array(&json);
	return json_finish(&json) < 0 ? NULL : take_ptr(text.data);
}
