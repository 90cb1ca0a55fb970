/* SPDX-License-Identifier: MIT */
/* verb-options-lanes - the options of check, and of verbs that draw what runs used. */
#include "api/verb-options.h"

#include "api/verb-options-impl.h"

struct opt_table options_check(void)
{
	static const struct opt items[] = {
		{"jobs", 0, "N", "at most so many at once, and never more than max_parallel",
		 OPT_JOBS, NULL},
		{"fail-fast", 0, NULL, "end the others when one fails", OPT_FAIL_FAST, NULL},
		{"json", 'j', NULL, "print one summary as JSON", OPT_JSON, NULL},
		{"junit", 0, "FILE", "write the outcomes to FILE, as JUnit XML", OPT_JUNIT, NULL},
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_sandbox_inspect(void)
{
	static const struct opt items[] = {
		{"plot", 0, NULL, "draw what the runs used, against the limits", OPT_PLOT, NULL},
		{"svg", 0, "FILE", "write the drawing to FILE", OPT_SVG, NULL},
		JSON,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}
