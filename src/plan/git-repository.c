/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "config/user.h"
#include "plan/git-config.h"
#include "plan/git-impl.h"
#include "plan/protected.h"
#include "plan/walk.h"

enum {
	INCLUDE_DEPTH = 10, /* git's */
	MODULE_DEPTH = 8,
	VISITED_MAX = 4096,
	VISITED_INSIDE_MAX = 1024,
	INCLUDED_MAX = 64 << 20,
	INCLUDE_FEE = 16 << 10, /* a file costs as much as so many bytes of one */
};

int git_protect(struct git *git, const char *base, const char *path, struct err *err)
{
	_cleanup_(walk_release) struct walk walk = {.protection = git->protection};

	return walk_path(&walk, base, path, err);
}

struct reading {
	struct git *git;
	const char *dir; /* of the file that is read */
	struct err *err;
};

/* "~/x" is the user's, "~name/x" another's; "%(prefix)" leads to a place that no command can
 * write. NULL and 0: nothing to protect. */
static int expand(const struct git *git, const char *value, char **ret)
{
	_cleanup_(freep) char *other = NULL;
	size_t len = strcspn(value, "/");
	const char *home = git->home;

	*ret = NULL;
	if (str_starts(value, "%(") || !*value)
		return 0;
	if (value[0] != '~') {
		*ret = strdup(value);
		return *ret ? 0 : -ENOMEM;
	}
	if (len > 1 && user_home_of(value + 1, len - 1, &other) < 0)
		return -ENOMEM;
	if (len > 1)
		home = other;
	if (!home || !value[len])
		return 0;
	*ret = path_join(home, value + len + 1);
	return *ret ? 0 : -ENOMEM;
}

/* husky puts stubs into a folder "_" that run the files around it. */
static int protect_hooks_at(struct git *git, const char *top, const char *path, struct err *err)
{
	size_t len = strlen(path);
	int r;

	while (len > 1 && path[len - 1] == '/')
		len--;
	r = git_protect(git, top, path, err);
	if (r == 0 && len > 2 && strncmp(path + len - 2, "/_", 2) == 0) {
		_cleanup_(freep) char *around = strndup(path, len - 2);

		r = around ? git_protect(git, top, around, err) : err_oom(err);
	}
	return r;
}

/* Where DIR has its working tree; NULL: it does not say, or there is none. */
static int find_top(struct git *git, const char *dir, const char **ret, struct err *err)
{
	_cleanup_(freep) char *value = take_ptr(git->worktree);
	_cleanup_(freep) char *path = NULL;
	_cleanup_(freep) char *top = NULL;

	*ret = NULL;
	if (!value || !dir)
		return 0;
	path = value[0] == '/' ? strdup(value) : path_join(dir, value);
	top = path ? realpath(path, NULL) : NULL;
	if (!path || (top && strv_add(&git->tops, top) < 0))
		return err_oom(err);
	*ret = top ? git->tops.items[git->tops.len - 1] : NULL;
	return 0;
}

int git_protect_hooks(struct git *git, const char *dir, struct err *err)
{
	const char *top;
	int r = find_top(git, dir, &top, err);

	for (size_t i = 0; i < git->hooks.len && r == 0; i++) {
		const char *path = git->hooks.items[i];

		r = protect_hooks_at(git, top ? top : git->top, path, err);
		for (size_t j = 0; !dir && path[0] != '/' && j < git->tops.len && r == 0; j++)
			r = protect_hooks_at(git, git->tops.items[j], path, err);
	}
	strv_release(&git->hooks);
	return r;
}

static bool is_core(const char *section, const char *subsection, const char *key, const char *name)
{
	return str_eq(section, "core") && !subsection && str_eq(key, name);
}

/* VALUE is a path of the configuration: of hooks, or of what it includes. */
static int take_path(struct reading *reading, bool hooks, const char *value)
{
	_cleanup_(freep) char *path = NULL;

	if (expand(reading->git, value, &path) < 0)
		return err_oom(reading->err);
	if (!path)
		return 0;
	if (hooks)
		return strv_add(&reading->git->hooks, path) < 0 ? err_oom(reading->err) : 0;
	return git_read_config(reading->git, reading->dir, path, reading->err);
}

static int take_variable(void *data, const char *section, const char *subsection, const char *key,
			 const char *value)
{
	struct reading *reading = data;
	struct strv *modules = reading->git->modules;
	bool hooks = is_core(section, subsection, key, "hookspath");
	bool include = (str_eq(section, "include") || str_eq(section, "includeif")) &&
		       str_eq(key, "path");

	if (modules && subsection && str_eq(section, "submodule") && !strv_has(modules, subsection))
		return strv_add(modules, subsection) < 0 ? err_oom(reading->err) : 0;
	if (value && is_core(section, subsection, key, "worktree")) {
		free(reading->git->worktree);
		reading->git->worktree = strdup(value);
		return reading->git->worktree ? 0 : err_oom(reading->err);
	}
	return value && (hooks || include) ? take_path(reading, hooks, value) : 0;
}

static void lower(char *text)
{
	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z')
			*text |= 0x20;
}

int git_take_variable(struct git *git, const char *name, const char *value, struct err *err)
{
	struct reading reading = {.git = git, .dir = "/", .err = err};
	_cleanup_(freep) char *section = NULL;
	char *first, *last;
	int r;

	if (!strchr(name, '.'))
		return 0; /* git takes none of them then */
	section = strdup(name);
	if (!section)
		return err_oom(err);
	first = strchr(section, '.');
	last = strrchr(section, '.');
	*first = *last = '\0';
	lower(section);
	lower(last + 1);
	r = take_variable(&reading, section, last > first ? first + 1 : NULL, last + 1, value);
	return r == -ENOMEM ? err_oom(err) : r;
}

int git_read_text(const char *path, size_t max, struct str *ret, struct err *err)
{
	struct err failed = {0};
	int r = file_read(AT_FDCWD, path, max, ret, &failed);

	if (r == -ENOENT || r == -EACCES || r == -EINVAL || r == -ENOTDIR)
		return 0;
	if (r < 0)
		*err = failed;
	return r;
}

/* Files that include each other many times over would be read for years, by git as well. */
static int count_included(struct git *git, size_t bytes, const char *path, struct err *err)
{
	git->included += bytes;
	if (git->included <= INCLUDED_MAX)
		return 0;
	return err_set(err, ERR_UNSUPPORTED, -E2BIG,
		       "git's configuration includes too much to be looked at, %s at last", path);
}

/* What WALK led to, if that is a file. */
static int read_walked(struct git *git, const struct walk *walk, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(freep) char *folder = NULL;
	struct reading reading = {.git = git, .err = err};
	const char *slash;
	int r;

	if (!walk->real || !S_ISREG(walk->mode) || git->depth > INCLUDE_DEPTH)
		return 0;
	r = git_read_text(walk->real, GIT_CONFIG_MAX, &text, err);
	if (r == 0)
		r = count_included(git, text.len, walk->real, err);
	if (r < 0)
		return r;
	slash = strrchr(walk->real, '/');
	folder = strndup(walk->real, slash == walk->real ? 1 : (size_t)(slash - walk->real));
	if (!folder)
		return err_oom(err);
	reading.dir = folder;
	git->depth++;
	r = git_config_scan(str_text(&text), text.len, take_variable, &reading);
	git->depth--;
	return r == -ENOMEM ? err_oom(err) : r;
}

/* What it says may be another thing tomorrow. */
static int note_source(struct git *git, const char *dir, const char *path, struct err *err)
{
	struct strv *sources = &git->protection->sources;
	char *whole = path[0] == '/' ? strdup(path) : path_join(dir, path);

	if (whole && strv_has(sources, whole)) {
		free(whole);
		return 0;
	}
	return strv_take(sources, whole) < 0 ? err_oom(err) : 0;
}

int git_read_config(struct git *git, const char *dir, const char *path, struct err *err)
{
	_cleanup_(walk_release) struct walk walk = {.protection = git->protection};
	int r = count_included(git, INCLUDE_FEE, path, err);

	if (r == 0)
		r = note_source(git, dir, path, err);
	if (r == 0)
		r = walk_path(&walk, dir, path, err);
	return r < 0 ? r : read_walked(git, &walk, err);
}

/* The names before what is read in them. */
static int protect_names(struct git *git, const char *dir, struct err *err)
{
	_cleanup_(walk_release) struct walk config = {.protection = git->protection};
	_cleanup_(walk_release) struct walk worktree = {.protection = git->protection};
	int r = 0;

	for (const char *const *name = protected_git_names; *name && r == 0; name++) {
		if (str_eq(*name, "config"))
			r = walk_path(&config, dir, *name, err);
		else if (str_eq(*name, "config.worktree"))
			r = walk_path(&worktree, dir, *name, err);
		else
			r = git_protect(git, dir, *name, err);
	}
	if (r == 0)
		r = note_source(git, dir, "config", err);
	if (r == 0)
		r = note_source(git, dir, "config.worktree", err);
	if (r == 0)
		r = read_walked(git, &config, err);
	if (r == 0)
		r = read_walked(git, &worktree, err);
	return r < 0 ? r : git_protect_hooks(git, dir, err);
}

bool git_has(const char *dir, const char *name)
{
	_cleanup_(freep) char *path = path_join(dir, name);
	struct stat st;

	return !path || lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

int git_read_pointer(const char *dir, const char *name, char **ret, struct err *err)
{
	_cleanup_(freep) char *path = path_join(dir, name);
	_cleanup_(str_release) struct str text = {0};
	int r;

	*ret = NULL;
	if (!path)
		return err_oom(err);
	r = git_read_text(path, GIT_POINTER_MAX, &text, err);
	if (r == 0 && text.len > 0)
		r = git_pointer_parse(text.data, text.len, ret);
	return r == -ENOMEM ? err_oom(err) : r;
}

char *git_working_tree(const char *dir)
{
	_cleanup_(freep) char *pointer = NULL;
	_cleanup_(freep) char *full = NULL;
	struct err ignored;
	char *slash;

	if (git_read_pointer(dir, "gitdir", &pointer, &ignored) < 0 || !pointer)
		return NULL;
	full = pointer[0] == '/' ? strdup(pointer) : path_join(dir, pointer);
	slash = full ? strrchr(full, '/') : NULL;
	if (!slash || !str_eq(slash, "/.git"))
		return NULL;
	*slash = '\0';
	return realpath(full, NULL);
}

typedef int visit_fn(struct git *git, const char *dir, struct err *err);

/* VISIT each folder in DIR/NAME; in DIR itself when NAME is NULL. */
static int visit_below(struct git *git, const char *dir, const char *name, visit_fn *visit,
		       struct err *err)
{
	_cleanup_(freep) char *path = name ? path_join(dir, name) : strdup(dir);
	struct dirent *entry;
	DIR *entries;
	int r = 0;

	if (!path)
		return err_oom(err);
	entries = opendir(path);
	if (!entries)
		return errno == ENOENT || errno == ENOTDIR ? 0
							   : err_sys(err, -errno, "list %s", path);
	while (r == 0 && (entry = readdir(entries))) {
		_cleanup_(freep) char *below = path_join(path, entry->d_name);
		struct stat st;

		if (!below)
			r = err_oom(err);
		else if (str_eq(entry->d_name, ".") || str_eq(entry->d_name, "..") ||
			 (lstat(below, &st) == 0 && !S_ISDIR(st.st_mode)))
			continue;
		else
			r = visit(git, below, err);
	}
	closedir(entries);
	return r;
}

static int count_visit(struct git *git, const char *dir, struct err *err)
{
	if (++git->visited <= VISITED_MAX)
		return 0;
	return err_set(err, ERR_UNSUPPORTED, -E2BIG,
		       "more than %d folders, at %s: too many repositories to be protected",
		       VISITED_MAX, dir);
}

/* A file, or what may be one. */
static bool has_file(const char *dir, const char *name)
{
	_cleanup_(freep) char *path = path_join(dir, name);
	struct stat st;

	if (!path)
		return true;
	if (lstat(path, &st) < 0)
		return errno != ENOENT && errno != ENOTDIR;
	return !S_ISDIR(st.st_mode);
}

/* HEAD can be moved away from inside, a configuration not. */
static bool is_repository(const char *dir)
{
	return has_file(dir, "config") || has_file(dir, "HEAD");
}

static int protect_module(struct git *git, const char *dir, struct err *err);

/* A folder in a repository. A command can make look like one what lies above a real one, so most
 * are looked into, as far as that is cheap: what the configuration names was seen to already. */
static int protect_other_module(struct git *git, const char *dir, struct err *err)
{
	static const char *const own[] = {"objects",   "refs",     "logs",         "hooks",
					  "info",      "branches", "remotes",      "modules",
					  "worktrees", "lfs",      "rr-cache",     "annex",
					  "sequencer", "svn",      "rebase-merge", "rebase-apply"};

	for (size_t i = 0; i < array_len(own); i++)
		if (str_eq(path_basename(dir), own[i]) && !has_file(dir, "config"))
			return 0;
	return protect_module(git, dir, err);
}

/* The name of a submodule can have slashes, and it can have submodules. */
static int protect_module(struct git *git, const char *dir, struct err *err)
{
	bool found = is_repository(dir);
	int r = 0;

	if (git->inside > 0 && !found &&
	    (git->module_depth >= MODULE_DEPTH || ++git->visited_inside > VISITED_INSIDE_MAX))
		return 0;
	if (git->module_depth >= MODULE_DEPTH)
		return err_set(err, ERR_UNSUPPORTED, -ELOOP, "submodules below %s are too deep",
			       dir);
	if (git->inside == 0 || found)
		r = count_visit(git, dir, err);
	git->module_depth++;
	if (r == 0 && found)
		r = git_protect_repository(git, dir, err);
	git->inside += found;
	if (r == 0)
		r = visit_below(git, dir, NULL, git->inside ? protect_other_module : protect_module,
				err);
	git->inside -= found;
	git->module_depth--;
	return r;
}

/* As git, which takes no other. */
static bool is_module_name(const char *name)
{
	if (!*name || *name == '/')
		return false;
	for (; *name; name += strcspn(name, "/"), name += *name == '/')
		if (strcspn(name, "/") == 2 && name[0] == '.' && name[1] == '.')
			return false;
	return true;
}

/* What the configuration names, whatever a command has made of it; and what else is there. */
static int protect_modules(struct git *git, const char *dir, struct err *err)
{
	_cleanup_(freep) char *modules = path_join(dir, "modules");
	int r = modules ? 0 : err_oom(err);

	for (size_t i = 0; r == 0 && i < git->modules->len; i++) {
		const char *name = git->modules->items[i];
		_cleanup_(freep) char *module = path_join(modules, name);
		_cleanup_(freep) char *real = module ? realpath(module, NULL) : NULL;

		if (!module || (!real && errno == ENOMEM))
			return err_oom(err);
		if (!is_module_name(name) || (!real && (errno == ENOENT || errno == ENOTDIR)))
			continue;
		r = real ? git_protect_repository(git, real, err)
			 : err_sys(err, -errno, "look at %s", module);
	}
	return r < 0 ? r : visit_below(git, dir, "modules", protect_module, err);
}

/* A working tree below the workspace can be pointed anywhere from there; one that
 * lies elsewhere must not be through its entry here. */
static int protect_worktree(struct git *git, const char *dir, struct err *err)
{
	_cleanup_(freep) char *tree = git_working_tree(dir);
	int r = count_visit(git, dir, err);

	if (r < 0 || (tree && path_covers(git->workspace, tree) && !str_eq(git->workspace, tree)))
		return r;
	r = protect_names(git, dir, err);
	if (r == 0)
		r = git_protect(git, dir, "gitdir", err);
	return r < 0 ? r : protect_modules(git, dir, err);
}

int git_protect_repository(struct git *git, const char *dir, struct err *err)
{
	_cleanup_(strv_release) struct strv modules = {0};
	struct strv *outer = git->modules;
	int r;

	if (strv_has(&git->seen, dir))
		return 0;
	if (strv_add(&git->seen, dir) < 0)
		return err_oom(err);
	git->modules = &modules;
	r = protect_names(git, dir, err);
	if (r == 0)
		r = protect_modules(git, dir, err);
	if (r == 0)
		r = visit_below(git, dir, "worktrees", protect_worktree, err);
	git->modules = outer;
	return r;
}
