/* SPDX-License-Identifier: MIT */
#include "review/staged.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "config/state-dir.h"

/* Whether there is a state folder at all; whose it is has been checked then. */
static int has_state(const struct staged *staged, struct err *err)
{
	_cleanup_(fd_closep) int fd = state_dir_open(&staged->workspace, false, err);

	if (fd == -ENOENT)
		return 0;
	return fd < 0 ? fd : 1;
}

int staged_find(const char *asked, struct staged *ret, struct err *err)
{
	struct staged staged = {.asked = asked};
	int r = user_probe(&staged.user, err);

	if (r == 0)
		r = workspace_find(asked, &staged.user, &staged.workspace, err);
	if (r == 0)
		r = has_state(&staged, err);
	if (r > 0)
		r = stage_recover(staged.workspace.state_dir, &staged.recovered, err);
	if (r < 0) {
		staged_release(&staged);
		return r;
	}
	*ret = staged;
	return 0;
}

void staged_release(struct staged *staged)
{
	stage_runs_free(staged->runs, staged->n_runs);
	changes_free(staged->changes);
	stage_free(staged->stage);
	workspace_release(&staged->workspace);
	user_release(&staged->user);
	*staged = (struct staged){0};
}

static int no_stage(const struct staged *staged, const char *name, struct err *err)
{
	struct strv names = {0};
	const char *near = NULL;
	int r = err_set(err, ERR_USAGE, -ENOENT, "there is no stage \"%s\"", name);

	if (staged->workspace.state_dir &&
	    stage_list(staged->workspace.state_dir, &names.items, NULL) == 0)
		for (names.len = 0; names.items && names.items[names.len]; names.len++)
			;
	if (names.len > 0)
		near = str_nearest(name, (const char *const *)names.items, names.len);
	if (near)
		r = err_hint(err, r, "did you mean \"%s\"? `pale stages` lists them", near);
	else
		r = err_hint(err, r, "`pale stages` lists them; `pale run --stage %s` makes one",
			     stage_name_is_valid(name) ? name : "NAME");
	strv_release(&names);
	return r;
}

int staged_open(struct staged *staged, const char *name, struct err *err)
{
	const char *wanted = name ? name : STAGE_DEFAULT;
	int r = has_state(staged, err);

	if (r < 0)
		return r;
	r = r == 0 ? -ENOENT
		   : stage_open(staged->workspace.state_dir, wanted, false, &staged->stage, err);
	if (r == -ENOENT)
		return name ? no_stage(staged, name, err) : 0;
	return r;
}

int staged_read(struct staged *staged, struct err *err)
{
	int r;

	if (!staged->stage)
		return 0;
	r = changes_read(staged->stage, &staged->changes, err);
	return r < 0 ? r : stage_runs(staged->stage, &staged->runs, &staged->n_runs, err);
}

const struct stage_run *staged_run(const struct staged *staged, const char *id)
{
	for (size_t i = 0; id && i < staged->n_runs; i++)
		if (str_eq(staged->runs[i].id, id))
			return &staged->runs[i];
	return NULL;
}

static bool is_folder(const struct change *change)
{
	if (change->kind == CHANGE_DELETE)
		return change->old.type == NODE_DIR;
	return change->new.type == NODE_DIR && change->kind != CHANGE_TYPE;
}

bool change_stands_alone(const struct changes *changes, size_t i)
{
	const struct change *at = &changes->items[i], *next = at + 1;

	if (!is_folder(at) || at->kind == CHANGE_MODE ||
	    (at->kind == CHANGE_ADD && !change_is_new_folder(at)))
		return true;
	/* What is below a path follows it. */
	return i + 1 == changes->n || next->root != at->root ||
	       !change_path_below(at->path, next->path);
}

size_t staged_count(const struct changes *changes)
{
	size_t count = 0;

	for (size_t i = 0; changes && i < changes->n; i++)
		count += !(changes->items[i].flags & CHANGE_IS_SAME) &&
			 change_stands_alone(changes, i);
	return count;
}

char *staged_name(const struct staged *staged, unsigned root, const char *path)
{
	const char *top = staged->stage->roots[root].path;

	if (root == 0)
		return strdup(*path ? path : ".");
	return *path ? path_join(top, path) : strdup(top);
}
