/* SPDX-License-Identifier: MIT */
#include "result/result.h"

#include "base/json.h"

static const char *const outcome_names[] = {
	[OUTCOME_OK] = "ok",           [OUTCOME_FAILED] = "failed", [OUTCOME_SIGNALED] = "signaled",
	[OUTCOME_TIMEOUT] = "timeout", [OUTCOME_OOM] = "oom",       [OUTCOME_LIMIT] = "limit",
	[OUTCOME_REFUSED] = "refused", [OUTCOME_ERROR] = "error",
};

const char *outcome_name(enum outcome outcome)
{
	return outcome_names[outcome];
}

void usage_json(const struct usage *usage, struct json *json)
{
	json_add_known(json, "memory_peak", usage->memory_peak);
	json_add_known(json, "cpu_ms", usage->cpu_ms);
	json_add_known(json, "pids_peak", usage->pids_peak);
	json_add_known(json, "written", usage->written);
	json_add_known(json, "connections", usage->connections);
	json_add_known(json, "net_sent", usage->net_sent);
	json_add_known(json, "net_received", usage->net_received);
}

int result_status(const struct result *result)
{
	switch (result->outcome) {
	case OUTCOME_TIMEOUT:
		return EXIT_TIMEOUT;
	case OUTCOME_REFUSED:
	case OUTCOME_ERROR:
		return result->exit_code > 0 ? result->exit_code : EXIT_NOT_RUN;
	case OUTCOME_OK:
	case OUTCOME_FAILED:
	case OUTCOME_SIGNALED:
	case OUTCOME_OOM:
	case OUTCOME_LIMIT:
		break;
	}
	return result->signal ? EXIT_SIGNAL + result->signal : result->exit_code;
}
