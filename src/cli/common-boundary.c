/* SPDX-License-Identifier: MIT */
/* The options that choose a boundary, for verbs that take them besides their own. */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "cli/common.h"
#include "policy/resolve.h"
#include "stage/stage.h"

bool boundary_has(const struct opt *opt)
{
	switch (opt->id) {
	case OPT_PRESET:
	case OPT_SPEC:
	case OPT_ALLOW_DEGRADED:
	case OPT_ENGINE:
	case OPT_STAGED:
	case OPT_DIRECT:
	case OPT_STAGE:
		return true;
	default:
		return opt->id >= OPT_DIM;
	}
}

static int add_dim(struct ask *ask, enum dim dim, const char *value, struct err *err)
{
	struct ask_item *items = reallocarray(ask->items, ask->len + 1, sizeof(*items));

	if (!items)
		return err_oom(err);
	ask->items = items;
	items[ask->len++] = (struct ask_item){dim, value ? value : "true"};
	return 0;
}

int boundary_set(struct ask *ask, const struct opt *opt, const char *value, struct err *err)
{
	if (opt->id >= OPT_DIM)
		return add_dim(ask, (enum dim)(opt->id - OPT_DIM), value, err);
	switch (opt->id) {
	case OPT_PRESET:
		ask->preset = value;
		return 0;
	case OPT_SPEC:
		ask->spec = value;
		return 0;
	case OPT_ALLOW_DEGRADED:
		return strv_add(&ask->allow_degraded, value) < 0 ? err_oom(err) : 0;
	case OPT_ENGINE:
		ask->engine = value;
		return 0;
	case OPT_STAGED:
		ask->mode = "staged";
		return 0;
	case OPT_DIRECT:
		ask->mode = "direct";
		return 0;
	case OPT_STAGE:
		ask->stage = value;
		return 0;
	default:
		BUG("no option of the boundary");
	}
}

int boundary_check(struct ask *ask, struct err *err)
{
	if (ask->spec && ask->preset)
		return err_set(err, ERR_USAGE, -EINVAL, "--preset and --spec exclude each other");
	if (!ask->stage)
		return 0;
	if (str_eq(ask->mode, "direct"))
		return err_set(err, ERR_USAGE, -EINVAL, "--stage and --direct exclude each other");
	if (!stage_name_is_valid(ask->stage))
		return err_hint(err,
				err_set(err, ERR_USAGE, -EINVAL, "--stage: \"%.100s\" is no name",
					ask->stage),
				"letters, digits, '.', '_' and '-', at most %d, no dot in front",
				STAGE_NAME_MAX);
	ask->mode = "staged";
	return 0;
}
