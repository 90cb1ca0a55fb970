/* SPDX-License-Identifier: MIT */
#include "learn/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"

/* Cut PATH to its folder. "/a" becomes "/". */
static void cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	slash[slash == path ? 1 : 0] = '\0';
}

static char *folder_of(const char *path)
{
	char *folder = strdup(path);

	if (folder)
		cut_last(folder);
	return folder;
}

/* Rule 1, and of rule 2 what needs no counting. */
static int add_one(const struct grouping *g, const char *path, struct strv *files,
		   struct strv *folders)
{
	_cleanup_(freep) char *at = strdup(path);
	enum path_type type;

	if (!at)
		return -ENOMEM;
	for (;;) {
		type = g->look(at, g->data);
		if (type == PATH_FOLDER || strcmp(at, g->floor) == 0)
			return strv_add(folders, at);
		if (type == PATH_FILE && g->files_max > 0 && strcmp(at, path) == 0)
			return strv_add(files, at);
		cut_last(at);
	}
}

/* May the folder PATH be a rule? */
static bool fits(const struct grouping *g, const char *path)
{
	return path_covers(g->floor, path) && g->look(path, g->data) == PATH_FOLDER &&
	       !g->is_forbidden(path, g->data);
}

static int split(const struct grouping *g, const struct strv *paths, struct strv *files,
		 struct strv *folders, struct strv *forbidden)
{
	int r = 0;

	for (size_t i = 0; i < paths->len && r == 0; i++) {
		const char *path = paths->items[i];

		if (!path_covers(g->floor, path))
			continue;
		r = g->is_forbidden(path, g->data) ? strv_add(forbidden, path)
						   : add_one(g, path, files, folders);
	}
	strv_sort_unique(files);
	strv_sort_unique(folders);
	return r;
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The rest of rule 2; what a folder covers is folded away later. */
static int add_files(const struct grouping *g, const struct strv *files, struct strv *ret)
{
	_cleanup_(strv_release) struct strv folders = {0}; /* of each file */
	int r = 0;

	for (size_t i = 0; i < files->len && r == 0; i++) {
		r = strv_add(ret, files->items[i]);
		if (r == 0)
			r = strv_take(&folders, folder_of(files->items[i]));
	}
	if (r < 0 || files->len == 0)
		return r;
	qsort(folders.items, folders.len, sizeof(*folders.items), compare_text);
	for (size_t i = 0, n; i < folders.len && r == 0; i += n) {
		const char *folder = folders.items[i];

		for (n = 1; i + n < folders.len && strcmp(folders.items[i + n], folder) == 0;)
			n++;
		if (n > g->files_max && fits(g, folder))
			r = strv_add(ret, folder);
	}
	return r;
}

/* A folder that may not be opened as a whole: what was touched in it has no rule. */
static int add_folders(const struct grouping *g, const struct strv *folders, struct strv *ret,
		       struct strv *forbidden)
{
	int r = 0;

	for (size_t i = 0; i < folders->len && r == 0; i++)
		r = strv_add(g->is_forbidden(folders->items[i], g->data) ? forbidden : ret,
			     folders->items[i]);
	return r;
}

/* The length of the common folder of two paths, 1 for "/". */
static size_t common(const char *a, const char *b)
{
	size_t last = 1;

	for (size_t i = 1; a[i - 1]; i++) {
		bool a_ends = !a[i] || a[i] == '/', b_ends = !b[i] || b[i] == '/';

		if (a_ends && b_ends)
			last = i;
		if (!a[i] || a[i] != b[i])
			break;
	}
	return last;
}

/* The neighbours with the deepest folder that may be a rule: its name, or NULL. */
static char *deepest_pair(const struct grouping *g, const struct strv *rules)
{
	char *best = NULL;
	size_t best_len = 0;

	for (size_t i = 0; i + 1 < rules->len; i++) {
		size_t len = common(rules->items[i], rules->items[i + 1]);
		char *folder;

		if (len <= best_len)
			continue;
		folder = strndup(rules->items[i], len);
		if (!folder || !fits(g, folder)) {
			free(folder);
			continue;
		}
		free(best);
		best = folder;
		best_len = len;
	}
	return best;
}

int group_paths(const struct grouping *g, const struct strv *paths, struct strv *ret,
		struct strv *ret_forbidden)
{
	_cleanup_(strv_release) struct strv files = {0}, folders = {0}, rules = {0};
	int r = split(g, paths, &files, &folders, ret_forbidden);

	if (r == 0)
		r = add_folders(g, &folders, &rules, ret_forbidden);
	if (r == 0)
		r = add_files(g, &files, &rules);
	if (r < 0)
		return r;
	paths_fold(&rules);
	while (rules.len > g->rules_max) {
		_cleanup_(freep) char *folder = deepest_pair(g, &rules);

		if (!folder)
			break;
		r = strv_add(&rules, folder);
		if (r < 0)
			return r;
		paths_fold(&rules);
	}
	for (size_t i = 0; i < rules.len && r == 0; i++)
		r = strv_add(ret, rules.items[i]);
	strv_sort_unique(ret_forbidden);
	return r;
}
