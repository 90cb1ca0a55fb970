/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "config/workspace.h"
#include "learn/suggest-impl.h"
#include "plan/protected.h"
#include "policy/cache-place.h"

/* What tools leave behind and nobody misses: a name on the way, or at the end. */
static const char *const by_products[] = {
	"__pycache__",  ".pytest_cache",   ".mypy_cache", ".ruff_cache",   ".hypothesis", ".cache",
	".eslintcache", ".stylelintcache", ".nyc_output", ".parcel-cache", ".coverage",
};

static bool is_one_of(const char *name, size_t len, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n && list[i]; i++)
		if (strlen(list[i]) == len && memcmp(list[i], name, len) == 0)
			return true;
	return false;
}

/* RELATIVE to the workspace. */
static bool is_by_product(const char *relative)
{
	for (const char *name = relative; *name;) {
		size_t len = strcspn(name, "/");

		if (is_one_of(name, len, by_products, array_len(by_products)))
			return true;
		name += len + (name[len] == '/');
	}
	return str_ends(relative, ".pyc");
}

static const char *relative_to(const char *dir, const char *path)
{
	size_t len = strlen(dir);

	return path + len + (path[len] == '/');
}

/* Writing in git's folder takes more than that folder (worktrees, hooks that stay
 * closed), and protected names are no place to write to. */
static bool is_special(const char *relative)
{
	size_t len = strcspn(relative, "/");

	return is_one_of(relative, len, (const char *const[]){".git"}, 1) ||
	       is_one_of(relative, len, protected_names, SIZE_MAX);
}

/* A file that was there before and was written, if only with what it held already: next
 * time it may be something else. */
static bool is_rewritten(const struct work *w, const char *path)
{
	const char *relative = relative_to(w->in->asked->workspace, path);

	return !is_by_product(relative) && !is_special(relative) &&
	       w->in->look(path, w->in->data) == PATH_FILE;
}

/* What the command left in the workspace, but for by-products. */
static int collect_kept(const struct work *w, struct strv *ret)
{
	const char *workspace = w->in->asked->workspace;
	int r = 0;

	for (size_t i = 0; i < w->ws_written.len && r == 0; i++)
		if (is_rewritten(w, w->ws_written.items[i]) &&
		    !strv_has(w->in->changed, w->ws_written.items[i]))
			r = strv_add(ret, w->ws_written.items[i]);

	for (size_t i = 0; i < w->in->changed->len && r == 0; i++) {
		const char *path = w->in->changed->items[i];

		if (path_covers(workspace, path) && !is_by_product(relative_to(workspace, path)))
			r = strv_add(ret, path);
	}
	return r;
}

/* The rules below the workspace under which all of KEPT could be written; none when
 * only the whole will do. */
static int scope(struct work *w, const struct strv *kept, struct strv *ret)
{
	const struct spec *asked = w->in->asked;
	_cleanup_(strv_release) struct strv rules = {0};
	int r = 0;

	for (size_t i = 0; i < kept->len; i++)
		if (is_special(relative_to(asked->workspace, kept->items[i])))
			return 0;
	if (asked->filesystem == FILESYSTEM_WORKSPACE_ONLY)
		r = work_group(w, asked->workspace, 0, kept, &rules);
	for (size_t i = 0; i < asked->paths_writable.len && r == 0; i++)
		if (asked->filesystem == FILESYSTEM_SCOPED_WRITE &&
		    path_covers(asked->workspace, asked->paths_writable.items[i]))
			r = work_group(w, asked->paths_writable.items[i], 0, kept, &rules);
	if (r < 0)
		return r;
	paths_fold(&rules);
	if (rules.len == 0 || strcmp(rules.items[0], asked->workspace) == 0)
		return 0;
	*ret = rules;
	rules = (struct strv){0};
	return 0;
}

/* Rules of the workspace in *LIST are replaced by RULES; the others stay. */
static int replace_inner(const struct work *w, struct strv *list, const struct strv *rules)
{
	_cleanup_(strv_release) struct strv fresh = {0};
	int r = rules ? strv_copy(&fresh, rules) : 0;

	for (size_t i = 0; i < list->len && r == 0; i++)
		if (!path_covers(w->in->asked->workspace, list->items[i]))
			r = strv_add(&fresh, list->items[i]);
	if (r < 0)
		return r;
	strv_release(list);
	*list = fresh;
	fresh = (struct strv){0};
	return 0;
}

static int make_readonly(struct work *w, bool ephemeral)
{
	int r = replace_inner(w, &w->spec->paths_writable, NULL);

	w->spec->filesystem = FILESYSTEM_READONLY;
	w->spec->ephemeral = ephemeral;
	if (r < 0)
		return r;
	if (!ephemeral)
		return work_say(w, DIM_FILESYSTEM, "it wrote nothing in the workspace");
	r = work_say(w, DIM_FILESYSTEM, "it leaves nothing in the workspace that matters");
	return r < 0 ? r
		     : work_say(w, DIM_EPHEMERAL,
				"what it writes there, %zu path%s, is thrown away",
				w->ws_written.len, w->ws_written.len == 1 ? "" : "s");
}

/* The profiled run could write in the workspace. */
static int narrow_writes(struct work *w)
{
	_cleanup_(strv_release) struct strv kept = {0}, rules = {0};
	int r = collect_kept(w, &kept);

	if (r < 0)
		return r;
	if (w->ws_written.len == 0 && kept.len == 0)
		return make_readonly(w, false);
	if (!w->in->wider && kept.len == 0) {
		w->has_wider = true;
		return make_readonly(w, true);
	}
	if (!w->in->wider)
		r = scope(w, &kept, &rules);
	if (r < 0)
		return r;
	if (rules.len == 0)
		return work_say(w, DIM_FILESYSTEM, "it changed %zu file%s in the workspace",
				kept.len, kept.len == 1 ? "" : "s");
	w->has_wider = true;
	w->spec->filesystem = FILESYSTEM_SCOPED_WRITE;
	r = replace_inner(w, &w->spec->paths_writable, &rules);
	if (r == 0)
		r = work_say(w, DIM_FILESYSTEM, "it changed files in some folders only");
	if (r == 0 && w->in->asked->filesystem == FILESYSTEM_WORKSPACE_ONLY)
		r = strv_add(
			&w->notes,
			"where a folder of paths_writable is missing, in a fresh checkout or after "
			"a clean, it is refused: make the folder first");
	return r < 0 ? r
		     : work_say(w, DIM_PATHS_WRITABLE, "%zu file%s changed there", kept.len,
				kept.len == 1 ? "" : "s");
}

int suggest_filesystem(struct work *w)
{
	switch (w->in->asked->filesystem) {
	case FILESYSTEM_WORKSPACE_ONLY:
	case FILESYSTEM_SCOPED_WRITE:
		return narrow_writes(w);
	case FILESYSTEM_READONLY:
		if (w->ws_written.len == 0)
			w->spec->ephemeral = false;
		return w->spec->ephemeral ? make_readonly(w, true) : 0;
	case FILESYSTEM_NONE:
	case FILESYSTEM_UNRESTRICTED:
		break;
	}
	return 0;
}

/* Rules of the profiled run that lie outside of the workspace, narrowed to what was
 * used of them. */
static int narrow_list(struct work *w, const struct strv *floors, const struct strv *used,
		       size_t files_max, struct strv *ret)
{
	int r = 0;

	for (size_t i = 0; i < floors->len && r == 0; i++)
		if (!path_covers(w->in->asked->workspace, floors->items[i]))
			r = work_group(w, floors->items[i], files_max, used, ret);
	return r;
}

/* The rules of LIST in the workspace stay, and FRESH is added. */
static int replace_outer(const struct work *w, struct strv *list, struct strv *fresh)
{
	int r = 0;

	for (size_t i = 0; i < list->len && r == 0; i++)
		if (path_covers(w->in->asked->workspace, list->items[i]))
			r = strv_add(fresh, list->items[i]);
	if (r < 0)
		return r;
	paths_fold(fresh);
	strv_release(list);
	*list = *fresh;
	*fresh = (struct strv){0};
	return 0;
}

static bool is_within(const struct strv *rules, const char *path)
{
	for (size_t i = 0; i < rules->len; i++)
		if (path_covers(rules->items[i], path))
			return true;
	return false;
}

/* What is writable is readable. */
static int drop_writable(const struct strv *writable, struct strv *readable)
{
	_cleanup_(strv_release) struct strv rest = {0};
	int r = 0;

	for (size_t i = 0; i < readable->len && r == 0; i++)
		if (!is_within(writable, readable->items[i]))
			r = strv_add(&rest, readable->items[i]);
	if (r < 0)
		return r;
	strv_release(readable);
	*readable = rest;
	rest = (struct strv){0};
	return 0;
}

int suggest_outside(struct work *w)
{
	const struct spec *asked = w->in->asked;
	_cleanup_(strv_release) struct strv writable = {0}, readable = {0};
	size_t outside;
	int r = narrow_list(w, &asked->paths_writable, &w->written, 0, &writable);

	if (r == 0)
		r = replace_outer(w, &w->spec->paths_writable, &writable);
	if (r == 0)
		r = narrow_list(w, &asked->paths_readable, &w->read, READ_FILES_MAX, &readable);
	if (r == 0)
		r = narrow_list(w, &asked->paths_writable, &w->read, READ_FILES_MAX, &readable);
	if (r == 0)
		r = drop_writable(&w->spec->paths_writable, &readable);
	if (r < 0)
		return r;
	outside = readable.len;
	r = replace_outer(w, &w->spec->paths_readable, &readable);
	if (r == 0 && outside > 0)
		r = work_say(w, DIM_PATHS_READABLE, "outside of the workspace; %zu files read",
			     w->read.len);
	return r;
}

/* The cache that PATH lies in, below HOME: a new string in *ret, or NULL. Of ~/.cache
 * it is the folder of one program. */
static int cache_of(const char *home, const char *path, char **ret)
{
	const char *rest = relative_to(home, path);
	unsigned names = 0;
	const char *folder = cache_folder_of(rest, &names);
	size_t len = folder ? strlen(folder) : 0;

	*ret = NULL;
	for (; folder && names > 0 && rest[len]; names--)
		len += 1 + strcspn(rest + len + 1, "/");
	if (!folder || rest[len] != '/')
		return 0;
	*ret = strndup(path, (size_t)(rest - path) + len);
	return *ret ? 0 : -ENOMEM;
}

/* The cache that PATH belongs to, if any. */
static int add_cache(struct work *w, const char *path, struct strv *caches)
{
	const struct strv *asked = &w->in->asked->caches;
	_cleanup_(freep) char *cache = NULL;
	int r;

	for (size_t i = 0; i < asked->len; i++)
		if (path_covers(asked->items[i], path))
			return strv_has(caches, asked->items[i])
				       ? 0
				       : strv_add(caches, asked->items[i]);
	r = cache_of(w->in->user->home, path, &cache);
	if (r < 0 || !cache || !path_is_nameable(cache) ||
	    is_within(&w->in->asked->paths_hidden, cache) || strv_has(caches, cache))
		return r;
	return strv_add(caches, cache);
}

/* Written to the home and to no cache; folders on the way to one do not count. */
static int note_lost(struct work *w)
{
	const struct strv *caches = &w->spec->caches;
	const char *example = NULL;
	size_t lost = 0;

	for (size_t i = 0; i < w->home.len; i++) {
		const char *path = w->home.items[i];
		bool counts = !is_within(caches, path);

		for (size_t k = 0; k < caches->len; k++)
			counts = counts && !path_covers(path, caches->items[k]);
		lost += counts;
		example = counts ? path : example;
	}
	if (lost == 0)
		return 0;
	return strv_addf(
		&w->notes,
		"%zu path%s in the home %s written, such as %s: it is private and empty in "
		"every run",
		lost, lost == 1 ? "" : "s", lost == 1 ? "was" : "were", example);
}

int suggest_caches(struct work *w)
{
	_cleanup_(strv_release) struct strv caches = {0};
	int r = 0;

	for (size_t i = 0; i < w->home.len && r == 0; i++)
		r = add_cache(w, w->home.items[i], &caches);
	if (r < 0)
		return r;
	paths_fold(&caches);
	strv_release(&w->spec->caches);
	w->spec->caches = caches;
	caches = (struct strv){0};
	if (w->spec->caches.len > 0)
		r = work_say(w, DIM_CACHES,
			     "a private copy, kept between runs; the host's stays out of sight");
	return r < 0 ? r : note_lost(w);
}
