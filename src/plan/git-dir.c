/* SPDX-License-Identifier: MIT */
#include "plan/git-dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/str.h"
#include "config/user.h"
#include "plan/git-config.h"
#include "plan/protected.h"
#include "plan/walk.h"

enum {
	POINTER_MAX = 1 << 20, /* git's own bound for a `.git` file */
	CONFIG_MAX = 1 << 20,
	INCLUDE_DEPTH = 10, /* git's */
	MODULE_DEPTH = 8,
	VISITED_MAX = 1024,
};

struct git {
	const char *workspace;
	const char *top; /* of the working tree that a configuration is for */
	const char *home;
	struct protection *protection;
	unsigned visited;
	unsigned module_depth;
	unsigned depth; /* of includes */
};

static int protect(struct git *git, const char *base, const char *path, struct err *err)
{
	_cleanup_(walk_release) struct walk walk = {.protection = git->protection};

	return walk_path(&walk, base, path, err);
}

struct reading {
	struct git *git;
	const char *dir; /* of the file that is read */
	struct err *err;
};

static int read_config(struct git *git, const char *dir, const char *path, struct err *err);

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

/* Hooks are looked up from the top of the working tree. husky puts stubs into a
 * folder "_" that run the files around it. */
static int protect_hooks_path(struct git *git, const char *path, struct err *err)
{
	size_t len = strlen(path);
	int r;

	while (len > 1 && path[len - 1] == '/')
		len--;
	r = protect(git, git->top, path, err);
	if (r == 0 && len > 2 && strncmp(path + len - 2, "/_", 2) == 0) {
		_cleanup_(freep) char *around = strndup(path, len - 2);

		r = around ? protect(git, git->top, around, err) : err_oom(err);
	}
	return r;
}

static int take_variable(void *data, const char *section, bool has_subsection, const char *key,
			 const char *value)
{
	struct reading *reading = data;
	bool hooks = str_eq(section, "core") && !has_subsection && str_eq(key, "hookspath");
	bool include = (str_eq(section, "include") || str_eq(section, "includeif")) &&
		       str_eq(key, "path");
	_cleanup_(freep) char *path = NULL;

	if ((!hooks && !include) || !value)
		return 0;
	if (expand(reading->git, value, &path) < 0)
		return err_oom(reading->err);
	if (!path)
		return 0;
	return hooks ? protect_hooks_path(reading->git, path, reading->err)
		     : read_config(reading->git, reading->dir, path, reading->err);
}

/* 0 and an empty text when it is no regular file or out of our reach: the
 * command, which has no more rights than we, cannot write it either. */
static int read_text(const char *path, size_t max, struct str *ret, struct err *err)
{
	struct err failed = {0};
	int r = file_read(AT_FDCWD, path, max, ret, &failed);

	if (r == -ENOENT || r == -EACCES || r == -EINVAL || r == -ENOTDIR)
		return 0;
	if (r < 0)
		*err = failed;
	return r;
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
	r = read_text(walk->real, CONFIG_MAX, &text, err);
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

static int read_config(struct git *git, const char *dir, const char *path, struct err *err)
{
	_cleanup_(walk_release) struct walk walk = {.protection = git->protection};
	int r = walk_path(&walk, dir, path, err);

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
			r = protect(git, dir, *name, err);
	}
	if (r == 0)
		r = read_walked(git, &config, err);
	return r < 0 ? r : read_walked(git, &worktree, err);
}

static bool has(const char *dir, const char *name)
{
	_cleanup_(freep) char *path = path_join(dir, name);
	struct stat st;

	/* What cannot be looked at may be there. */
	return !path || lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* Read DIR/NAME as a pointer; NULL and 0 when there is none. */
static int read_pointer(const char *dir, const char *name, char **ret, struct err *err)
{
	_cleanup_(freep) char *path = path_join(dir, name);
	_cleanup_(str_release) struct str text = {0};
	int r;

	*ret = NULL;
	if (!path)
		return err_oom(err);
	r = read_text(path, POINTER_MAX, &text, err);
	if (r == 0 && text.len > 0)
		r = git_pointer_parse(text.data, text.len, ret);
	return r == -ENOMEM ? err_oom(err) : r;
}

/* The folder of the working tree that DIR, an entry of a repository, is for; NULL
 * when it does not say. */
static char *working_tree(const char *dir)
{
	_cleanup_(freep) char *pointer = NULL;
	_cleanup_(freep) char *full = NULL;
	struct err ignored;
	char *slash;

	if (read_pointer(dir, "gitdir", &pointer, &ignored) < 0 || !pointer)
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
		else if (++git->visited > VISITED_MAX)
			r = err_set(
				err, ERR_UNSUPPORTED, -E2BIG,
				"more than %d folders in %s: too many repositories to be protected",
				VISITED_MAX, path);
		else
			r = visit(git, below, err);
	}
	closedir(entries);
	return r;
}

static int protect_repository(struct git *git, const char *dir, struct err *err);

/* Whatever a repository has of its own: each of it but the protected names can be moved away for
 * a while, from inside. */
static bool is_repository(const char *dir)
{
	static const char *const parts[] = {"config", "HEAD", "hooks", "objects", "refs"};

	for (size_t i = 0; i < array_len(parts); i++)
		if (has(dir, parts[i]))
			return true;
	return false;
}

static int protect_module(struct git *git, const char *dir, struct err *err);

/* Git's own folders, as a rule, and those that were seen to. */
static int protect_other_module(struct git *git, const char *dir, struct err *err)
{
	static const char *const own[] = {"objects", "refs", "logs", "modules", "worktrees"};

	for (size_t i = 0; i < array_len(own); i++)
		if (str_eq(path_basename(dir), own[i]))
			return 0;
	return protect_module(git, dir, err);
}

/* The name of a submodule can have slashes, and it can have submodules. A command can make look
 * like one what lies above a real one. */
static int protect_module(struct git *git, const char *dir, struct err *err)
{
	bool found = is_repository(dir);
	int r = 0;

	if (++git->module_depth > MODULE_DEPTH)
		r = err_set(err, ERR_UNSUPPORTED, -ELOOP, "submodules below %s are too deep", dir);
	if (r == 0 && found)
		r = protect_repository(git, dir, err);
	if (r == 0)
		r = visit_below(git, dir, NULL, found ? protect_other_module : protect_module, err);
	git->module_depth--;
	return r;
}

/* A working tree below the workspace can be pointed anywhere from there; one that
 * lies elsewhere must not be through its entry here. */
static int protect_worktree(struct git *git, const char *dir, struct err *err)
{
	_cleanup_(freep) char *tree = working_tree(dir);
	int r;

	if (tree && path_covers(git->workspace, tree) && !str_eq(git->workspace, tree))
		return 0;
	r = protect_names(git, dir, err);
	if (r == 0)
		r = protect(git, dir, "gitdir", err);
	return r < 0 ? r : visit_below(git, dir, "modules", protect_module, err);
}

static int protect_repository(struct git *git, const char *dir, struct err *err)
{
	int r = protect_names(git, dir, err);

	if (r == 0)
		r = visit_below(git, dir, "modules", protect_module, err);
	return r < 0 ? r : visit_below(git, dir, "worktrees", protect_worktree, err);
}

static bool same_owner(const char *a, const char *b)
{
	struct stat x, y;

	return lstat(a, &x) == 0 && lstat(b, &y) == 0 && x.st_uid == y.st_uid;
}

/* What git inside needs to see of a repository that lies elsewhere: only as
 * `git worktree add` leaves it, and only the user's own. */
static int show_common(struct git *git, const char *dir, const struct walk *common, struct err *err)
{
	_cleanup_(freep) char *worktrees = path_join(common->real, "worktrees");
	_cleanup_(freep) char *tree = working_tree(dir);
	const char *slash = strrchr(dir, '/');

	if (!worktrees)
		return err_oom(err);
	if (strlen(worktrees) != (size_t)(slash - dir) ||
	    strncmp(worktrees, dir, (size_t)(slash - dir)) != 0 || !str_eq(tree, git->workspace) ||
	    !same_owner(git->workspace, dir) || !same_owner(git->workspace, common->real))
		return 0;
	/* Else a command could make a folder above a repository of its own making. */
	if (path_covers(common->real, git->workspace) || !str_ends(common->real, ".git"))
		return 0;
	git->protection->git_common = strdup(common->real);
	git->protection->git_common_id = common->id;
	return git->protection->git_common ? 0 : err_oom(err);
}

/* DIR is what git takes for the repository's directory. */
static int protect_git_dir(struct git *git, const char *dir, bool pointed, struct err *err)
{
	_cleanup_(walk_release) struct walk common = {.protection = git->protection,
						      .keep_writable = true};
	_cleanup_(freep) char *pointer = NULL;
	int r = protect_repository(git, dir, err);

	if (r == 0)
		r = read_pointer(dir, "commondir", &pointer, err);
	if (r < 0 || !pointer)
		return r;
	r = walk_path(&common, dir, pointer, err);
	if (r < 0 || !common.real || !S_ISDIR(common.mode))
		return r;
	r = protect_repository(git, common.real, err);
	return r < 0 || !pointed ? r : show_common(git, dir, &common, err);
}

/* A `.git` file. */
static int follow_file(struct git *git, const char *file, struct err *err)
{
	_cleanup_(walk_release) struct walk walk = {.protection = git->protection,
						    .keep_writable = true};
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(freep) char *path = NULL;
	struct err failed = {0};
	int r = file_read(AT_FDCWD, file, POINTER_MAX, &text, &failed);

	if (r == -EFBIG)
		return 0; /* git does not read it either */
	if (r < 0) {
		*err = failed;
		return r;
	}
	r = git_file_parse(str_text(&text), text.len, &path);
	if (r < 0)
		return r == -ENOMEM ? err_oom(err) : 0;
	r = walk_path(&walk, git->workspace, path, err);
	if (r < 0 || !walk.real || !S_ISDIR(walk.mode))
		return r;
	return protect_git_dir(git, walk.real, true, err);
}

/* core.hooksPath of the user or of the machine can lead into the workspace, too. Who runs git
 * later need not have the same variables: all are read. */
static int read_global(struct git *git, struct err *err)
{
	const char *const files[] = {getenv("GIT_CONFIG_SYSTEM"), getenv("GIT_CONFIG_GLOBAL")};
	const char *xdg = getenv("XDG_CONFIG_HOME");
	int r = read_config(git, "/etc", "gitconfig", err);

	if (r == 0 && git->home)
		r = read_config(git, git->home, ".gitconfig", err);
	if (r == 0 && git->home)
		r = read_config(git, git->home, ".config/git/config", err);
	if (r == 0 && xdg && xdg[0] == '/')
		r = read_config(git, xdg, "git/config", err);
	for (size_t i = 0; i < array_len(files) && r == 0; i++)
		if (files[i] && files[i][0] == '/')
			r = read_config(git, "/", files[i], err);
	return r;
}

/* Why PATH, which could not be looked at, is none that we, and so git, could use: 0. Else it may
 * be one. */
static int unusable(const char *path, struct err *err)
{
	return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP
		       ? 0
		       : err_sys(err, -errno, "look at %s", path);
}

/* The directory that FOLDER/.git is, or names. NULL and 0: none that could be used. */
static int find_git_dir(const char *folder, char **ret, struct err *err)
{
	_cleanup_(freep) char *path = path_join(folder, ".git");
	_cleanup_(freep) char *pointer = NULL;
	_cleanup_(str_release) struct str text = {0};
	struct stat st;
	int r = 0;

	*ret = NULL;
	if (!path)
		return err_oom(err);
	if (stat(path, &st) < 0)
		return unusable(path, err);
	if (S_ISREG(st.st_mode)) {
		r = read_text(path, POINTER_MAX, &text, err);
		if (r == 0 && git_file_parse(str_text(&text), text.len, &pointer) < 0)
			return 0;
		free(path);
		path = r < 0               ? NULL
		       : pointer[0] == '/' ? take_ptr(pointer)
					   : path_join(folder, pointer);
	}
	if (r == 0 && !path)
		return err_oom(err);
	if (r == 0 && access(path, R_OK | X_OK) < 0)
		return unusable(path, err);
	if (r == 0)
		*ret = realpath(path, NULL);
	return r == 0 && !*ret ? unusable(path, err) : r;
}

/* What is executed where a repository around the workspace is used, from there or from the
 * workspace, can be in the workspace. */
static int read_enclosing(struct git *git, const char *folder, struct err *err)
{
	_cleanup_(freep) char *dir = NULL;
	_cleanup_(freep) char *pointer = NULL;
	_cleanup_(freep) char *common = NULL;
	int r = find_git_dir(folder, &dir, err);

	if (r < 0 || !dir)
		return r;
	git->top = folder;
	r = read_config(git, dir, "config", err);
	if (r == 0)
		r = read_config(git, dir, "config.worktree", err);
	if (r == 0)
		r = read_pointer(dir, "commondir", &pointer, err);
	if (r == 0 && pointer) {
		common = pointer[0] == '/' ? strdup(pointer) : path_join(dir, pointer);
		r = common ? read_config(git, common, "config", err) : err_oom(err);
	}
	git->top = git->workspace;
	return r;
}

static int read_all_enclosing(struct git *git, struct err *err)
{
	_cleanup_(freep) char *folder = strdup(git->workspace);
	char *slash;
	int r = folder ? 0 : err_oom(err);

	while (r == 0 && (slash = strrchr(folder, '/')) && folder[1]) {
		slash[slash == folder] = '\0';
		r = read_enclosing(git, folder, err);
	}
	return r;
}

/* A HEAD can be moved away for a while, the configuration not. */
static bool was_repository(const char *dir)
{
	_cleanup_(freep) char *path = path_join(dir, "config");
	_cleanup_(str_release) struct str text = {0};
	struct err ignored;
	int r = path ? file_read(AT_FDCWD, path, CONFIG_MAX, &text, &ignored) : -ENOMEM;

	if (r < 0)
		return r != -ENOENT && r != -EINVAL && r != -EFBIG;
	return strcasestr(str_text(&text), "repositoryformatversion");
}

/* Without a .git the workspace may be a repository itself, or become one. */
static int probe_bare(struct git *git, struct err *err)
{
	int r = 0;

	if (has(git->workspace, "HEAD"))
		return protect_repository(git, git->workspace, err);
	if (was_repository(git->workspace))
		r = protect_repository(git, git->workspace, err);
	if (r < 0)
		return r;
	return protection_add(git->protection, git->workspace, "HEAD", PROTECTED_ABSENT,
			      (struct file_id){0}, NULL) < 0
		       ? err_oom(err)
		       : 0;
}

int git_dir_probe(const char *workspace, const char *home, struct protection *ret, struct err *err)
{
	_cleanup_(walk_release) struct walk walk = {.protection = ret, .keep_writable = true};
	struct git git = {
		.workspace = workspace, .top = workspace, .home = home, .protection = ret};
	int r = walk_path(&walk, workspace, ".git", err);

	if (r == 0 && !walk.real)
		r = probe_bare(&git, err);
	else if (r == 0 && S_ISDIR(walk.mode))
		r = protect_git_dir(&git, walk.real, false, err);
	else if (r == 0 && S_ISREG(walk.mode))
		r = follow_file(&git, walk.real, err);
	/* A .git that is broken on purpose makes git look for a bare one at the top. */
	if (r == 0 && walk.real)
		r = protect(&git, workspace, "HEAD", err);
	if (r == 0)
		r = read_all_enclosing(&git, err);
	if (r == 0)
		r = read_global(&git, err);
	return r < 0 ? err_hint(
			       err, r,
			       "what git would execute here cannot be told: mend or remove what is named")
		     : 0;
}
