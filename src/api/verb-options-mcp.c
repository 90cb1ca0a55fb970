/* SPDX-License-Identifier: MIT */
/* verb-options-mcp - the options of verbs for agents. */
#include "api/verb-options.h"

#include "api/verb-options-impl.h"
#include "api/verbs.h"
#include "base/cleanup.h"

/* Those of run that say what the boundary is; the rest is not for a server. */
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

struct opt_table options_mcp_serve(void)
{
	static struct opt items[64];
	static size_t len;
	struct opt_table all = options_run();

	if (len == 0)
		for (size_t i = 0; i < all.len && len < array_len(items); i++)
			if (is_offered(&all.items[i]))
				items[len++] = all.items[i];
	return (struct opt_table){items, len, false};
}
