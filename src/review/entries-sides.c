/* SPDX-License-Identifier: MIT */
/* entries-sides - the content of an entry, before and after. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/path.h"
#include "review/entries-impl.h"
#include "stage/three-way.h"

void sides_release(struct sides *sides)
{
	str_release(&sides->old_data);
	str_release(&sides->new_data);
	free(sides->old_path);
	free(sides->new_path);
	*sides = (struct sides){0};
}

/* Of another root: from "/" on, so that `patch -d /` finds it. */
static char *path_in_patch(const struct staged *staged, const struct change *change)
{
	const char *top = staged->stage->roots[change->root].path + 1;

	if (change->root == 0)
		return strdup(change->path);
	return *change->path ? path_join(top, change->path) : strdup(top);
}

static int read_failed(const struct entry *entry, int r, struct err *err)
{
	if (r != -ESTALE && r != -ENOENT)
		return err_wrap(err, r, "cannot read %s", entry->name);
	err_set(err, ERR_SYSTEM, -ESTALE, "%s has changed while it was being read", entry->name);
	return err_hint(err, -ESTALE, "try again");
}

static int load_old(const struct staged *staged, const struct entry *entry, struct sides *sides,
		    struct err *err)
{
	const struct change *change = entry->from ? entry->from : entry->change;
	int r = 0;

	if (!node_is_patchable(&change->old) || entry->kind == ENTRY_ADDED)
		return 0;
	if (!sides->is_too_big)
		r = change_read_old(staged->stage, change, ENTRY_MAX, &sides->old_data, err);
	if (r < 0)
		return read_failed(entry, r, err);
	sides->old_path = path_in_patch(staged, change);
	sides->old = (struct patch_side){
		.path = sides->old_path,
		.mode = mode_in_patch(&change->old, change->old.mode),
		.data = sides->old_data.data,
		.len = sides->old_data.len,
	};
	return sides->old_path ? 0 : err_oom(err);
}

static int read_merged(const struct staged *staged, const struct change *change, struct str *ret,
		       mode_t *ret_mode, struct err *err)
{
	int r = change_read_merged(staged->stage, change, ret, ret_mode, err);

	/* It did when the changes were read. */
	return r == -EBUSY ? -ESTALE : r;
}

static int load_new(const struct staged *staged, const struct entry *entry, bool merges,
		    struct sides *sides, struct err *err)
{
	const struct change *change = entry->change;
	mode_t mode = change->new.mode;
	int r = 0;

	if (!node_is_patchable(&change->new) || entry->kind == ENTRY_DELETED)
		return 0;
	if (merges)
		r = read_merged(staged, change, &sides->new_data, &mode, err);
	else if (!sides->is_too_big)
		r = change_read_new(staged->stage, change, ENTRY_MAX, &sides->new_data, err);
	if (r < 0)
		return read_failed(entry, r, err);
	sides->new_path = path_in_patch(staged, change);
	sides->new = (struct patch_side){
		.path = sides->new_path,
		.mode = mode_in_patch(&change->new, mode),
		.data = sides->new_data.data,
		.len = sides->new_data.len,
	};
	return sides->new_path ? 0 : err_oom(err);
}

static bool has_binary(const struct patch_side *side)
{
	return side->path && !S_ISLNK(side->mode) && diff_is_binary(side->data, side->len);
}

static int load(const struct staged *staged, const struct entry *entry, bool merges,
		struct sides *ret, struct err *err)
{
	const struct change *before = entry->from ? entry->from : entry->change;
	struct sides sides = {
		.is_too_big = before->old.size > ENTRY_MAX || entry->change->new.size > ENTRY_MAX,
	};
	int r = load_old(staged, entry, &sides, err);

	if (r == 0)
		r = load_new(staged, entry, merges, &sides, err);
	if (r < 0) {
		sides_release(&sides);
		return r;
	}
	sides.is_binary = sides.is_too_big || has_binary(&sides.old) || has_binary(&sides.new);
	*ret = sides;
	return 0;
}

int sides_load(const struct staged *staged, const struct entry *entry, struct sides *ret,
	       struct err *err)
{
	return load(staged, entry, entry->change->flags & CHANGE_MERGES, ret, err);
}

int sides_load_staged(const struct staged *staged, const struct entry *entry, struct sides *ret,
		      struct err *err)
{
	return load(staged, entry, false, ret, err);
}

void hunks_release(struct hunks *hunks)
{
	free(hunks->items);
	diff_release(&hunks->diff);
	*hunks = (struct hunks){0};
}

int hunks_make(const struct sides *sides, struct hunks *ret, struct err *err)
{
	struct hunks hunks = {0};
	int r;

	if (sides->is_binary) {
		*ret = hunks;
		return 0;
	}
	r = diff_compute(sides->old.data, sides->old.path ? sides->old.len : 0, sides->new.data,
			 sides->new.path ? sides->new.len : 0, DIFF_NATURAL, &hunks.diff);
	if (r < 0)
		return r == -ENOMEM ? err_oom(err) : err_sys(err, r, "cannot compare");
	r = diff_hunks(&hunks.diff, DIFF_CONTEXT, &hunks.items, &hunks.n);
	if (r < 0) {
		hunks_release(&hunks);
		return err_oom(err);
	}
	*ret = hunks;
	return 0;
}
