/* SPDX-License-Identifier: MIT */
/* verb-options-explain - the options of verbs that say why, and allow. */
#include "api/verb-options.h"

#include "api/verb-options-impl.h"

struct opt_table options_events_annotate(void)
{
	static const struct opt items[] = {
		{"number", 'n', "N", "the newest N for each annotator; 256, or 0 for all",
		 OPT_NUMBER, NULL},
		{"run", 0, "RUN", "only of this run", OPT_RUN, NULL},
		{"since", 0, "DURATION", "only what happened so long ago at most: 2d, 3h30m",
		 OPT_SINCE, NULL},
		JSON,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_allow(void)
{
	static const struct opt items[] = {
		{"project", 0, NULL, "write the rule to the workspace's pale.toml", OPT_PROJECT,
		 NULL},
		{"user", 0, NULL, "write it to your own", OPT_USER, NULL},
		{"dry-run", 'n', NULL, "show the rule and what it opens, and write nothing",
		 OPT_DRY_RUN, NULL},
		{"yes", 'y', NULL, "agree without being asked", OPT_YES, NULL},
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}
