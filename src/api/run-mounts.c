/* SPDX-License-Identifier: MIT */
#include "api/run-mounts.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mounts.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/plan.h"

static bool is_hidden(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->ops_len; i++)
		if (plan->ops[i].kind == OP_HIDE && path_covers(plan->ops[i].dst, path))
			return true;
	return false;
}

static bool is_overlay(const struct op *op)
{
	return op->src && (op->kind == OP_STAGED || op->kind == OP_OVERLAY);
}

/* In a namespace of his own the mounts of the host stay where they are for an ordinary user, and
 * nothing can be laid over a folder that has one in it, be it hidden. */
static bool can_be_hidden(const struct plan *plan)
{
	return plan->idmap != IDMAP_SELF;
}

static int refuse(const struct plan *plan, const struct op *op, const char *at, struct err *err)
{
	bool staged = op->kind == OP_STAGED && !plan->throws_away;

	err_set(err, ERR_UNSUPPORTED, -ENOTSUP,
		"something is mounted on %s, and %s writes cannot reach there", at,
		staged ? "staged" : "ephemeral");
	return err_hint(err, -ENOTSUP, "%s, or %s",
			can_be_hidden(plan) ? "hide it (--hide)" : "unmount it",
			staged ? "use --direct" : "run without --ephemeral");
}

static int check(const struct plan *plan, const struct op *op, const struct mounts *mounts,
		 struct err *err)
{
	for (size_t i = 0; i < mounts->len; i++) {
		const char *at = mounts->items[i].point;

		if (str_eq(at, op->src) || !path_covers(op->src, at))
			continue;
		if (!can_be_hidden(plan) || !is_hidden(plan, at))
			return refuse(plan, op, at, err);
	}
	return 0;
}

int run_check_mounts(const struct plan *plan, struct err *err)
{
	_cleanup_(mounts_release) struct mounts mounts = {0};
	bool is_read = false;
	int r = 0;

	for (size_t i = 0; i < plan->ops_len && r == 0; i++) {
		const struct op *op = &plan->ops[i];

		if (!is_overlay(op))
			continue;
		if (!is_read)
			r = mounts_read(&mounts, err);
		is_read = true;
		if (r == 0)
			r = check(plan, op, &mounts, err);
	}
	return r;
}
