/* SPDX-License-Identifier: MIT */
/* verb-options-mcp - the options of verbs for agents, and of the one that shows what they get. */
#include "api/verb-options.h"

#include "api/verb-options-impl.h"
#include "api/verbs.h"
#include "base/cleanup.h"

/* Those of run that say what the boundary is. */
static bool is_offered(const struct opt *option)
{
	switch (option->id) {
	case OPT_PRESET:
	case OPT_WORKSPACE:
	case OPT_ALLOW_DEGRADED:
	case OPT_ENGINE:
	case OPT_STAGED:
	case OPT_DIRECT:
	case OPT_NO_OBSERVE:
	case OPT_HELP:
		return true;
	default:
		return option->id >= OPT_DIM;
	}
}

#define BOUNDARY_OPTIONS_MAX 64

/* The N that ITEMS has already, and behind them those of the boundary. */
static struct opt_table with_boundary(struct opt items[static BOUNDARY_OPTIONS_MAX], size_t n)
{
	struct opt_table all = options_run();

	for (size_t i = 0; i < all.len && n < BOUNDARY_OPTIONS_MAX; i++)
		if (is_offered(&all.items[i]))
			items[n++] = all.items[i];
	return (struct opt_table){items, n, false};
}

struct opt_table options_mcp_serve(void)
{
	static struct opt items[BOUNDARY_OPTIONS_MAX];

	return with_boundary(items, 0);
}

struct opt_table options_status(void)
{
	static struct opt items[BOUNDARY_OPTIONS_MAX] = {JSON};

	return with_boundary(items, 1);
}
