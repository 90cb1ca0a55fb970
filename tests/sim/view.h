/* SPDX-License-Identifier: MIT */
/*
 * view - what a plan makes visible, by playing its mounts through on paper.
 *
 * Written without the code under test. On the made-up host everything exists,
 * under its own name, and no rule of a spec leads through a link.
 */
#pragma once
#include <stdio.h>

#include "base/path.h"
#include "plan/plan.h"

enum sight {
	SIGHT_NOTHING, /* not there, or made by us: a tmpfs, /proc, a device */
	SIGHT_HIDDEN,
	SIGHT_READ,
	SIGHT_OVERLAY, /* writes go nowhere */
	SIGHT_WRITE,
};

struct view {
	enum sight sight;
	char host[512]; /* whose content it is, from SIGHT_READ on */
};

/* Where PATH ends up when SRC is mounted at DST, which covers it. */
static inline void view_translate(const char *src, const char *dst, const char *path, char *ret,
				  size_t size)
{
	const char *rest = path + (str_eq(dst, "/") ? 0 : strlen(dst));

	snprintf(ret, size, "%s%s", str_eq(src, "/") ? "" : src, rest);
	if (!*ret)
		snprintf(ret, size, "/");
}

static inline bool view_is_host_mount(const struct op *op)
{
	return (op->kind == OP_BIND && !str_eq(op->src, "/proc")) || op->kind == OP_OVERLAY ||
	       op->kind == OP_ROOT_BIND;
}

static inline enum sight view_sight(const struct op *op)
{
	if (op->kind == OP_OVERLAY)
		return SIGHT_OVERLAY;
	return op->flags & OP_RDONLY ? SIGHT_READ : SIGHT_WRITE;
}

/* Does OP put something of its own where DST is? */
static inline bool view_is_own_mount(const struct op *op)
{
	return op->kind == OP_ROOT || op->kind == OP_TMPFS || op->kind == OP_PRIVATE ||
	       op->kind == OP_AUX || op->kind == OP_PROC || op->kind == OP_DEVICE ||
	       op->kind == OP_DEVPTS || op->kind == OP_BIND;
}

/* What PATH is after the first N operations. */
static inline struct view view_at(const struct plan *plan, size_t n, const char *path)
{
	struct view view = {.sight = SIGHT_NOTHING};

	for (size_t i = 0; i < n; i++) {
		const struct op *op = &plan->ops[i];

		if (!op->dst || !path_covers(op->dst, path))
			continue;
		if (view_is_host_mount(op)) {
			view.sight = view_sight(op);
			view_translate(op->src, op->dst, path, view.host, sizeof(view.host));
		} else if (op->kind == OP_HIDE && view.sight != SIGHT_NOTHING) {
			view.sight = SIGHT_HIDDEN;
		} else if (view_is_own_mount(op)) {
			view.sight = SIGHT_NOTHING;
		}
	}
	return view;
}

/* The loosest way in which the host's PATH can be reached, under any name. */
static inline enum sight view_of_host(const struct plan *plan, const char *path)
{
	enum sight best = SIGHT_NOTHING;

	for (size_t i = 0; i < plan->ops_len; i++) {
		const struct op *op = &plan->ops[i];
		char inside[512];
		struct view view;

		if (!view_is_host_mount(op) || !path_covers(op->src, path))
			continue;
		view_translate(op->dst, op->src, path, inside, sizeof(inside));
		view = view_at(plan, plan->ops_len, inside);
		if (view.sight > SIGHT_HIDDEN && str_eq(view.host, path) && view.sight > best)
			best = view.sight;
	}
	return best;
}

/* Is there a folder or file at PATH inside, whoever made it? */
static inline bool view_exists(const struct plan *plan, const char *path)
{
	struct view view = view_at(plan, plan->ops_len, path);

	if (view.sight != SIGHT_NOTHING)
		return view.sight != SIGHT_HIDDEN;
	for (size_t i = 0; i < plan->ops_len; i++)
		if (plan->ops[i].dst && view_is_own_mount(&plan->ops[i]) &&
		    path_covers(path, plan->ops[i].dst))
			return true;
	return false;
}
