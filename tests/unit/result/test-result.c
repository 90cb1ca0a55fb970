/* SPDX-License-Identifier: MIT */
#include "result/result.h"

#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

static const struct {
	const char *what;
	struct result result;
	int status;
} samples[] = {
	{"success is 0", {.outcome = OUTCOME_OK}, 0},
	{"a failure is the command's own status", {.outcome = OUTCOME_FAILED, .exit_code = 3}, 3},
	{"125 can be the command's own, too", {.outcome = OUTCOME_FAILED, .exit_code = 125}, 125},
	{"255 fits", {.outcome = OUTCOME_FAILED, .exit_code = 255}, 255},
	{"a signal is 128 + its number",
	 {.outcome = OUTCOME_SIGNALED, .exit_code = -1, .signal = SIGSEGV},
	 128 + SIGSEGV},
	{"a timeout is 124, whatever signal ended it",
	 {.outcome = OUTCOME_TIMEOUT, .exit_code = -1, .signal = SIGKILL},
	 EXIT_TIMEOUT},
	{"a timeout is 124, even if the command then exited by itself",
	 {.outcome = OUTCOME_TIMEOUT, .exit_code = 0},
	 EXIT_TIMEOUT},
	{"out of memory shows the kernel's signal",
	 {.outcome = OUTCOME_OOM, .exit_code = -1, .signal = SIGKILL},
	 128 + SIGKILL},
	{"a limit shows how the command ended", {.outcome = OUTCOME_LIMIT, .exit_code = 1}, 1},
	{"a refusal is 125", {.outcome = OUTCOME_REFUSED, .exit_code = -1}, EXIT_NOT_RUN},
	{"an error is 125", {.outcome = OUTCOME_ERROR, .exit_code = -1}, EXIT_NOT_RUN},
	{"a program that is not there is 127",
	 {.outcome = OUTCOME_ERROR, .exit_code = EXIT_NOT_FOUND},
	 EXIT_NOT_FOUND},
	{"a program that is none is 126",
	 {.outcome = OUTCOME_ERROR, .exit_code = EXIT_NOT_EXECUTABLE},
	 EXIT_NOT_EXECUTABLE},
};

int main(void)
{
	static const char *const names[] = {"ok",  "failed", "signaled", "timeout",
					    "oom", "limit",  "refused",  "error"};

	for (size_t i = 0; i < array_len(samples); i++)
		tap_eq_int(result_status(&samples[i].result), samples[i].status, "%s",
			   samples[i].what);
	for (size_t i = 0; i < array_len(names); i++)
		tap_eq_str(outcome_name((enum outcome)i), names[i], "outcome %s", names[i]);
	return tap_done();
}
