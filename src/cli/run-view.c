/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "cli/history-verb.h"

const char *run_record_name(const struct run_record *record)
{
	return record->command ? record->command : record->program;
}

static void add_end(const struct run_record *record, struct json *json)
{
	bool ended = record->ended;

	json_add_string(json, "error", record->error);
	if (ended && record->exit_code >= 0)
		json_add_int(json, "exit_code", record->exit_code);
	else
		json_add_null(json, "exit_code");
	if (ended && record->signal)
		json_add_int(json, "signal", record->signal);
	else
		json_add_null(json, "signal");
	json_add_string(json, "limit", record->limit);
	json_add_known(json, "duration_ms", ended ? record->duration_ms : UINT64_MAX);
	json_begin_object(json, "usage");
	usage_json(&record->usage, json);
	json_end_object(json);
	json_add_known(json, "refused", record->observed ? record->violations : UINT64_MAX);
	json_add_bool(json, "has_output", record->has_output);
}

void run_record_members(const struct run_record *record, struct json *json)
{
	json_add_string(json, "run", record->id);
	json_add_uint(json, "started_ms", record->started_ms);
	json_add_string(json, "command", record->command);
	json_add_string(json, "program", record->program);
	json_add_string(json, "argv_digest", record->argv_digest);
	json_add_raw(json, "argv", record->argv);
	json_add_string(json, "outcome", run_record_state(record));
	if (record->living)
		json_add_int(json, "pid", record->pid);
	json_add_string(json, "engine", record->engine);
	json_add_string(json, "mode", record->mode);
	json_add_string(json, "stage", record->stage);
	json_begin_object(json, "grade");
	json_add_string(json, "world", record->world);
	json_add_uint(json, "ceiling", record->ceiling);
	json_end_object(json);
	json_add_string(json, "spec_digest", record->spec_digest);
	json_begin_object(json, "limits");
	json_add_known(json, "timeout_ms", record->timeout_ms);
	json_add_known(json, "cpu_ms", record->cpu_ms);
	json_add_known(json, "memory", record->memory);
	json_add_known(json, "pids", record->pids);
	json_end_object(json);
	add_end(record, json);
}

void run_record_json(const struct run_record *record, struct json *json)
{
	json_begin_object(json, NULL);
	run_record_members(record, json);
	json_end_object(json);
}
