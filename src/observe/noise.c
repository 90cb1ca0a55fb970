/* SPDX-License-Identifier: MIT */
#include "observe/noise.h"

#include <fnmatch.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"

/* Patterns of fnmatch(3), in which '*' goes across slashes. */
static const struct {
	const char *op, *target; /* NULL: any */
	enum violation_weight weight;
} known[] = {
	/* a terminal that is not there */
	{NULL, "/dev/tty", VIOLATION_PROBE},
	{NULL, "/dev/console", VIOLATION_PROBE},
	/* daemons of the name service, asked by every program that looks up a user */
	{"connect", "*/run/nscd/socket", VIOLATION_PROBE},
	{"connect", "*/run/systemd/userdb/*", VIOLATION_PROBE},
	{"connect", "*/systemd/journal/*", VIOLATION_PROBE},
	{"connect", "/dev/log", VIOLATION_PROBE},
	{NULL, "/etc/ld.so.cache~", VIOLATION_PROBE},
	/* compiled modules beside those of the system: used when there, made when possible */
	{NULL, "*/__pycache__", VIOLATION_PROBE},
	{NULL, "*/__pycache__/*", VIOLATION_PROBE},
	{NULL, "*.pyc", VIOLATION_PROBE},
	{NULL, "*.pyc.*", VIOLATION_PROBE},
	{NULL, "/proc/*/oom_score_adj", VIOLATION_PROBE},
	{NULL, "/proc/*/comm", VIOLATION_PROBE},
	{NULL, "/proc/*/coredump_filter", VIOLATION_PROBE},
	/* libraries that try what a newer kernel, or a looser sandbox, would give them */
	{"io_uring_setup", NULL, VIOLATION_PROBE},
	{"name_to_handle_at", NULL, VIOLATION_PROBE},
	{"perf_event_open", NULL, VIOLATION_OPTIONAL},
	{"keyctl", NULL, VIOLATION_OPTIONAL},
	{"add_key", NULL, VIOLATION_OPTIONAL},
	{"request_key", NULL, VIOLATION_OPTIONAL},
	{"userfaultfd", NULL, VIOLATION_OPTIONAL},
	{"modify_ldt", NULL, VIOLATION_OPTIONAL},
	{"personality", NULL, VIOLATION_OPTIONAL},
	{"setpriority", NULL, VIOLATION_OPTIONAL},
	{"ioprio_set", NULL, VIOLATION_OPTIONAL},
	{"sched_setscheduler", NULL, VIOLATION_OPTIONAL},
	{"sched_setattr", NULL, VIOLATION_OPTIONAL},
	{"socket", NULL, VIOLATION_OPTIONAL},
	/* locks that git takes if it can: to write the index anew is optional for it */
	{NULL, "*/index.lock", VIOLATION_OPTIONAL},
	{NULL, "*/.pytest_cache*", VIOLATION_OPTIONAL},
	{NULL, "*/.mypy_cache*", VIOLATION_OPTIONAL},
	{NULL, "*/.ruff_cache*", VIOLATION_OPTIONAL},
	{NULL, "*/.cache", VIOLATION_OPTIONAL},
	{NULL, "*/.cache/*", VIOLATION_OPTIONAL},
	{NULL, "*/node_modules/.cache*", VIOLATION_OPTIONAL},
};

enum violation_weight noise_weigh(const char *op, const char *target)
{
	for (size_t i = 0; i < array_len(known); i++) {
		if (known[i].op && !str_eq(known[i].op, op))
			continue;
		if (known[i].target && (!target || fnmatch(known[i].target, target, 0) != 0))
			continue;
		return known[i].weight;
	}
	return VIOLATION_PLAIN;
}
