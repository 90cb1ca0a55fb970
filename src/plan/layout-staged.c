/* SPDX-License-Identifier: MIT */
/*
 * Staged writes: what would be writable on the host is an overlay instead, whose
 * upper layer is kept outside.
 *
 * The workspace and its repository are shown through the stage also where they can
 * only be read: a command sees what those before it have written. Only caches stay
 * as they are. What is writable below such a folder is a part of it; any other
 * writable folder has layers of its own.
 *
 * An ephemeral workspace whose layer cannot be on a tmpfs has one of the same kind, in a
 * stage that goes with the run.
 */
#include <errno.h>

#include "base/err.h"
#include "plan/host.h"
#include "plan/layout-impl.h"
#include "plan/op.h"
#include "plan/plan.h"

static bool is_always_staged(const struct layout *l, const struct place *place)
{
	return str_eq(place->src, l->site->workspace) ||
	       str_eq(place->src, l->site->protection.git_common);
}

/* The staged folder that PLACE, the one at INDEX, lies in; parents come first. */
static bool lies_in_staged(const struct layout *l, size_t index)
{
	struct places above = {.items = l->places.items, .len = index};
	const struct place *at = places_at(&above, l->places.items[index].dst);

	return at && (at->is_staged || at->is_part);
}

static int check_staged(const struct layout *l, const struct place *place, struct err *err)
{
	if (place->flags & OP_FILE)
		return err_hint(err,
				err_set(err, ERR_UNSUPPORTED, -ENOTSUP,
					"staged writes need a folder, and %s is a single file",
					place->src),
				"make its folder writable instead, or use --direct");
	if (path_covers(l->site->workspace, place->src) && !str_eq(l->site->workspace, place->src))
		return err_hint(
			err,
			err_set(err, ERR_UNSUPPORTED, -ENOTSUP,
				"staged writes in %s need the workspace around it, which is "
				"not shown",
				place->src),
			"use --filesystem scoped_write, or --direct");
	return 0;
}

static int stage_place(struct layout *l, size_t index, struct err *err)
{
	struct place *place = &l->places.items[index];

	if (place->access == ACCESS_PRIVATE || place->is_cache || place->is_root ||
	    place->is_system)
		return 0;
	if (is_always_staged(l, place)) {
		place->is_staged = true;
		return 0;
	}
	if (place->access != ACCESS_WRITE)
		return 0;
	place->is_part = lies_in_staged(l, index);
	place->is_staged = !place->is_part;
	return place->is_staged ? check_staged(l, place, err) : 0;
}

/* The workspace is a root of its own in the stage, also where it lies in a folder
 * that is writable as a whole. */
static int insert_workspace(struct layout *l)
{
	const struct place *at = places_at(&l->places, l->site->workspace);
	struct place place = {.dst = l->site->workspace,
			      .src = l->site->workspace,
			      .flags = OP_IDMAP,
			      .access = ACCESS_WRITE,
			      .id = l->site->workspace_id,
			      .is_staged = true};

	if (!at || !at->is_staged || str_eq(at->dst, place.dst))
		return 0;
	if (paths_cover(&l->hidden, place.src))
		return 0;
	return places_insert(&l->places, place);
}

/* The workspace alone: what else is writable is so for real. */
static void stage_to_throw_away(struct layout *l)
{
	for (size_t i = 0; i < l->places.len; i++)
		l->places.items[i].is_staged = l->places.items[i].access == ACCESS_OVERLAY;
}

int layout_stage(struct layout *l, struct err *err)
{
	int r = 0;

	if (l->plan->throws_away)
		stage_to_throw_away(l);
	for (size_t i = 0; i < l->places.len && r == 0 && l->staged; i++)
		r = stage_place(l, i, err);
	if (r < 0 || !l->staged)
		return r;
	return insert_workspace(l) < 0 ? err_oom(err) : 0;
}
