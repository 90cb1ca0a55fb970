/* SPDX-License-Identifier: MIT */
/* A run's result as JSON. */
#include "api/run-history.h"
#include "api/run.h"
#include "base/json.h"

static void result_json(const struct result *result, struct json *json)
{
	json_add_string(json, "outcome", outcome_name(result->outcome));
	if (result->exit_code >= 0)
		json_add_int(json, "exit_code", result->exit_code);
	else
		json_add_null(json, "exit_code");
	if (result->signal)
		json_add_int(json, "signal", result->signal);
	else
		json_add_null(json, "signal");
	json_add_string(json, "limit", result->limit);
	json_add_uint(json, "duration_ms", result->duration_ms);
	json_begin_object(json, "usage");
	usage_json(&result->usage, json);
	json_add_known(json, "output_dropped", result->output_dropped);
	json_end_object(json);
}

void run_error_json(const struct err *err, struct json *json)
{
	json_add_string(json, "outcome", outcome_name(run_error_outcome(err)));
	json_add_null(json, "exit_code");
	json_add_null(json, "signal");
	json_begin_object(json, "error");
	json_add_string(json, "code", err_code_name(err->code));
	json_add_string(json, "message", err->message);
	json_add_string(json, "hint", err->hint[0] ? err->hint : NULL);
	json_end_object(json);
}

static void stage_json(const struct run *run, struct json *json)
{
	if (!run->plan || !run->plan->stage) {
		json_add_null(json, "stage");
		return;
	}
	json_begin_object(json, "stage");
	json_add_string(json, "name", run->plan->stage);
	if (run->staged.is_known)
		json_add_uint(json, "changes", run->staged.changes);
	else
		json_add_null(json, "changes");
	json_add_string(json, "error", run->staged.err.message[0] ? run->staged.err.message : NULL);
	json_end_object(json);
}

void run_json(const struct run *run, const struct err *err, struct json *json)
{
	json_begin_object(json, NULL);
	json_add_string(json, "run", run->id[0] ? run->id : NULL);
	json_add_string(json, "command", run->command);
	if (run->session)
		json_add_string(json, "session", run->session);
	if (run->shell)
		json_add_string(json, "shell", run->shell);
	if (err)
		run_error_json(err, json);
	else
		result_json(&run->result, json);
	if (run->plan) {
		json_add_string(json, "engine", engine_name(run->plan->engine));
		spec_json(&run->resolved.spec, "spec", json);
		plan_verdicts_json(run->plan, json);
		json_begin_object(json, "grade");
		json_add_string(json, "world", run->plan->world);
		json_add_uint(json, "ceiling", run->plan->ceiling);
		json_end_object(json);
	}
	events_json(&run->result.events, json);
	violations_json(&run->result.violations, json);
	stage_json(run, json);
	run_history_json(run, json);
	json_end_object(json);
}
