/* SPDX-License-Identifier: MIT */
/* staged-paths - operands of the command line to paths of the stage. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/path.h"
#include "review/staged.h"

void staged_paths_release(struct staged_paths *paths)
{
	free(paths->items);
	strv_release(&paths->texts);
	*paths = (struct staged_paths){0};
}

bool staged_paths_cover(const struct staged_paths *paths, const struct change *change)
{
	if (!paths || paths->n == 0)
		return true;
	for (size_t i = 0; i < paths->n; i++)
		if (paths->items[i].root == change->root &&
		    change_path_below(paths->items[i].path, change->path))
			return true;
	return false;
}

static bool has_change(const struct changes *changes, unsigned root, const char *path)
{
	for (size_t i = 0; changes && i < changes->n; i++)
		if (changes->items[i].root == root &&
		    change_path_below(path, changes->items[i].path))
			return true;
	return false;
}

static int add(struct staged_paths *paths, unsigned root, const char *path)
{
	struct apply_path *items = reallocarray(paths->items, paths->n + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	paths->items = items;
	if (strv_add(&paths->texts, path) < 0)
		return -ENOMEM;
	items[paths->n++] = (struct apply_path){
		.root = root,
		.path = paths->texts.items[paths->texts.len - 1],
	};
	return 0;
}

/* 1: something is staged there, and added; 0: not. */
static int add_absolute(const struct staged *staged, const char *path, struct staged_paths *paths)
{
	const struct stage *stage = staged->stage;
	int found = 0, best = -1, r = 0;
	size_t best_len = 0;

	for (size_t i = 0; i < stage->n_roots && r == 0; i++) {
		const char *top = stage->roots[i].path;

		if (path_covers(path, top) && has_change(staged->changes, (unsigned)i, "")) {
			r = add(paths, (unsigned)i, "");
			found = 1;
		} else if (path_covers(top, path) && strlen(top) >= best_len) {
			best = (int)i;
			best_len = strlen(top);
		}
	}
	if (r == 0 && !found && best >= 0) {
		const char *rest = path + (best_len > 1 ? best_len : 0);

		rest += *rest == '/';
		found = has_change(staged->changes, (unsigned)best, rest);
		if (found)
			r = add(paths, (unsigned)best, rest);
	}
	return r < 0 ? r : found;
}

/* Links on the way to it, but not itself. */
static int resolve_parent(const char *path, char **ret)
{
	_cleanup_(freep) char *parent = NULL;
	_cleanup_(freep) char *real = NULL;
	const char *slash = strrchr(path, '/');
	int r;

	if (!slash || !slash[1])
		return -ENOENT;
	parent = slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
	r = parent ? path_resolve(parent, &real) : -ENOMEM;
	if (r < 0)
		return r;
	*ret = path_join(real, slash + 1);
	return *ret ? 0 : -ENOMEM;
}

int staged_paths_add(const struct staged *staged, const char *operand, struct staged_paths *paths,
		     struct err *err)
{
	_cleanup_(freep) char *path = NULL;
	_cleanup_(freep) char *real = NULL;
	int r = *operand ? path_normalize(staged->workspace.cwd, operand, &path) : -EINVAL;

	if (r == -ENOMEM)
		return err_oom(err);
	if (r < 0)
		return err_set(err, ERR_USAGE, -EINVAL, "\"%s\" is no path", operand);
	if (staged->stage)
		r = add_absolute(staged, path, paths);
	if (staged->stage && r == 0 && resolve_parent(path, &real) == 0)
		r = add_absolute(staged, real, paths);
	if (r < 0)
		return err_oom(err);
	if (r > 0)
		return 0;
	r = err_set(err, ERR_USAGE, -ENOENT, "%s: nothing is staged there", operand);
	return err_hint(err, r, "`pale diff --name-status` lists what is");
}
