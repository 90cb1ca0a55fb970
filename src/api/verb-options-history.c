/* SPDX-License-Identifier: MIT */
/* verb-options-history - the options of verbs about what was run. */
#include "api/verb-options.h"

#include "api/verb-options-impl.h"

#define SINCE                                                                                      \
	{                                                                                          \
		"since", 0, "DURATION", "only what began so long ago at most: 2d, 3h30m",          \
			OPT_SINCE, NULL                                                            \
	}
#define NUMBER                                                                                     \
	{                                                                                          \
		"number", 'n', "N", "the newest N; 20 when left out, 0 for all", OPT_NUMBER, NULL  \
	}

static const char *const outcomes[] = {"ok",      "failed", "signaled", "timeout", "oom", "limit",
				       "refused", "error",  "running",  "unknown", NULL};

struct opt_table options_runs_list(void)
{
	static const struct opt items[] = {
		NUMBER,
		{"command", 0, "NAME", "only of this command, or of a program of that name",
		 OPT_COMMAND, NULL},
		{"outcome", 0, "OUTCOME", "only those that ended so, or that have not", OPT_OUTCOME,
		 NULL, outcomes},
		SINCE,
		{"ids", 0, NULL, "print the ids alone, one per line", OPT_NAMES, NULL},
		JSON,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_runs_prune(void)
{
	static const struct opt items[] = {
		{"older-than", 0, "DURATION", "those that began longer ago: 30d", OPT_OLDER_THAN,
		 NULL},
		{"dry-run", 0, NULL, "only say how many", OPT_DRY_RUN, NULL},
		JSON,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_show(void)
{
	static const struct opt items[] = {
		{"output", 0, NULL, "print what it printed, if that was kept", OPT_OUTPUT, NULL},
		JSON,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_events_list(void)
{
	static const struct opt items[] = {
		NUMBER,
		{"kind", 0, "KIND", "only of this kind, or family of kinds: sandbox, apply",
		 OPT_KIND, NULL},
		{"run", 0, "RUN", "only of this run", OPT_RUN, NULL},
		SINCE,
		{"follow", 'f', NULL, "go on and print what happens from now on", OPT_FOLLOW, NULL},
		JSON,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}
