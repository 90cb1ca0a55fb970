/* SPDX-License-Identifier: MIT */
#include "plan/git-dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/str.h"
#include "plan/git-config.h"
#include "plan/git-impl.h"
#include "plan/protected.h"
#include "plan/walk.h"

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
	_cleanup_(freep) char *tree = git_working_tree(dir);
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
	int r = git_protect_repository(git, dir, err);

	if (r == 0)
		r = git_read_pointer(dir, "commondir", &pointer, err);
	if (r < 0 || !pointer)
		return r;
	r = walk_path(&common, dir, pointer, err);
	if (r < 0 || !common.real || !S_ISDIR(common.mode))
		return r;
	r = git_protect_repository(git, common.real, err);
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
	int r = file_read(AT_FDCWD, file, GIT_POINTER_MAX, &text, &failed);

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

/* Variables in variables: git refuses to work where one of them is missing. */
static int read_environment(struct git *git, struct err *err)
{
	const char *text = getenv("GIT_CONFIG_COUNT");
	unsigned long count = text ? strtoul(text, NULL, 10) : 0;
	int r = 0;

	for (unsigned long i = 0; i < count && r == 0; i++) {
		char name[64];
		const char *key, *value;

		snprintf(name, sizeof(name), "GIT_CONFIG_KEY_%lu", i);
		key = getenv(name);
		snprintf(name, sizeof(name), "GIT_CONFIG_VALUE_%lu", i);
		value = getenv(name);
		if (!key || !value)
			break;
		r = git_take_variable(git, key, value, err);
	}
	return r;
}

/* core.hooksPath of the user or of the machine can lead into the workspace, too. Who runs git
 * later need not have the same variables: all are read. */
static int read_global(struct git *git, struct err *err)
{
	const char *const files[] = {getenv("GIT_CONFIG_SYSTEM"), getenv("GIT_CONFIG_GLOBAL")};
	const char *xdg = getenv("XDG_CONFIG_HOME");
	int r = git_read_config(git, "/etc", "gitconfig", err);

	if (r == 0 && git->home)
		r = git_read_config(git, git->home, ".gitconfig", err);
	if (r == 0 && git->home)
		r = git_read_config(git, git->home, ".config/git/config", err);
	if (r == 0 && xdg && xdg[0] == '/')
		r = git_read_config(git, xdg, "git/config", err);
	for (size_t i = 0; i < array_len(files) && r == 0; i++)
		if (files[i] && files[i][0] == '/')
			r = git_read_config(git, "/", files[i], err);
	if (r == 0)
		r = read_environment(git, err);
	return r < 0 ? r : git_protect_hooks(git, NULL, err);
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
		r = git_read_text(path, GIT_POINTER_MAX, &text, err);
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
	r = git_read_config(git, dir, "config", err);
	if (r == 0)
		r = git_read_config(git, dir, "config.worktree", err);
	if (r == 0)
		r = git_read_pointer(dir, "commondir", &pointer, err);
	if (r == 0 && pointer) {
		common = pointer[0] == '/' ? strdup(pointer) : path_join(dir, pointer);
		r = common ? git_read_config(git, common, "config", err) : err_oom(err);
	}
	if (r == 0)
		r = git_protect_hooks(git, dir, err);
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

static int note_core(void *data, const char *section, const char *subsection, const char *key,
		     const char *value)
{
	bool *found = data;

	(void)key;
	(void)value;
	*found = *found || (str_eq(section, "core") && !subsection);
	return 0;
}

/* A HEAD can be moved away for a while, the configuration not. */
static int was_repository(const char *dir, bool *ret, struct err *err)
{
	_cleanup_(freep) char *path = path_join(dir, "config");
	_cleanup_(str_release) struct str text = {0};
	int r = path ? git_read_text(path, GIT_CONFIG_MAX, &text, err) : err_oom(err);

	*ret = false;
	if (r == -EFBIG)
		return 0; /* no command can have made it so */
	if (r == 0)
		r = git_config_scan(str_text(&text), text.len, note_core, ret);
	*ret = *ret && (git_has(dir, "objects") || git_has(dir, "refs") || git_has(dir, "hooks"));
	return r == -ENOMEM ? err_oom(err) : r;
}

/* Without a .git the workspace may be a repository itself, or become one. */
static int probe_bare(struct git *git, struct err *err)
{
	bool was;
	int r;

	if (git_has(git->workspace, "HEAD"))
		return git_protect_repository(git, git->workspace, err);
	r = was_repository(git->workspace, &was, err);
	if (r == 0 && was)
		r = git_protect_repository(git, git->workspace, err);
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
		r = git_protect(&git, workspace, "HEAD", err);
	if (r == 0)
		r = read_all_enclosing(&git, err);
	if (r == 0)
		r = read_global(&git, err);
	strv_release(&git.seen);
	strv_release(&git.tops);
	strv_release(&git.hooks);
	free(git.worktree);
	return r < 0 ? err_hint(
			       err, r,
			       "what git would execute here cannot be told: mend or remove what is named")
		     : 0;
}
