/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/common.h"
#include "result/violation.h"

enum { SHOWN = 1 };

/* How many attempts are not told of by name. */
static uint64_t count_others(const struct violations *violations, const struct violation *shown)
{
	uint64_t others = violations->dropped;

	for (size_t i = 0; i < violations->len; i++)
		if (&violations->items[i] != shown &&
		    violations->items[i].weight != VIOLATION_PROBE)
			others += violations->items[i].count;
	return others;
}

void report_refused(const struct violations *violations)
{
	const struct violation *v;
	struct err err = {0};
	char times[40] = "", others[80] = "";
	uint64_t more;

	if (violations_rank(violations, &v, SHOWN) == 0)
		return;
	if (v->count > 1)
		snprintf(times, sizeof(times), ", %llu times", (unsigned long long)v->count);
	more = count_others(violations, v);
	if (more > 0)
		snprintf(others, sizeof(others), " (and %llu more: pale why)",
			 (unsigned long long)more);
	err_set(&err, ERR_POLICY, 0, "denied: %s%s%s%s%s%s%s", v->op, v->target ? " " : "",
		v->target ? v->target : "", v->rule ? ", by " : "", v->rule ? v->rule : "", times,
		others);
	if (v->fix)
		err_hint(&err, 0, "to allow it: %s", v->fix);
	report(&err);
}
