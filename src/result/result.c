/* SPDX-License-Identifier: MIT */
#include "result/result.h"

static const char *const outcome_names[] = {
	[OUTCOME_OK] = "ok",           [OUTCOME_FAILED] = "failed", [OUTCOME_SIGNALED] = "signaled",
	[OUTCOME_TIMEOUT] = "timeout", [OUTCOME_OOM] = "oom",       [OUTCOME_LIMIT] = "limit",
	[OUTCOME_REFUSED] = "refused", [OUTCOME_ERROR] = "error",
};

const char *outcome_name(enum outcome outcome)
{
	return outcome_names[outcome];
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
	return result->signal ? 128 + result->signal : result->exit_code;
}
