/* SPDX-License-Identifier: MIT */
#include "config/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/str.h"
#include "config/home-places.h"

#define STATE_NAME_MAX 64
#define STATE_DIGITS   32 /* so many that no other path can be made to have the same */
#define WHERE_TO_GO    "cd into a project or use --workspace DIR"

/* Neither they nor what holds them can be a project. */
static const char *const system_dirs[] = {
	"/etc", "/usr",  "/tmp", "/var/tmp", "/proc", "/sys",  "/dev",
	"/run", "/boot", "/bin", "/sbin",    "/lib",  "/home",
};

/* The symlink-free name of directory PATH. */
static int real_dir(const char *path, char **ret)
{
	_cleanup_(fd_closep) int fd = path_open_named(path, O_PATH | O_DIRECTORY, ret);

	return fd < 0 ? fd : 0;
}

/* Does DIR, which is symlink-free, hold PATH or what PATH leads to? Negative: that
 * cannot be told. */
static int holds(const char *dir, const char *path, const struct user *user)
{
	_cleanup_(freep) char *real = NULL;
	int r;

	if (!path)
		return 0;
	if (path_covers(dir, path))
		return 1;
	r = user_path_resolve(user, path, &real);
	return r < 0 ? r : path_covers(dir, real);
}

/* … or is it held by it? */
static int overlaps(const char *dir, const char *path, const struct user *user)
{
	_cleanup_(freep) char *real = NULL;
	int r;

	if (!path)
		return 0;
	if (path_covers(dir, path) || path_covers(path, dir))
		return 1;
	r = user_path_resolve(user, path, &real);
	return r < 0 ? r : path_covers(dir, real) || path_covers(real, dir);
}

/* System directories lie near the root, also those that others are links to. */
static bool is_near_root(const char *dir)
{
	unsigned depth = 0;

	for (; *dir; dir++)
		depth += *dir == '/';
	return depth <= 2;
}

/* Why DIR cannot be a workspace, or NULL. On the path of every run: a folder is
 * looked up only where that can matter. */
static const char *refusal(const char *dir, const struct user *user)
{
	bool near_root = is_near_root(dir);
	int home = holds(dir, user->home, user), config, state;

	if (home == 0 && !str_eq(user->home, user->pw_home))
		home = holds(dir, user->pw_home, user);
	if (home > 0)
		return "it holds your whole home";
	config = overlaps(dir, user->config_dir, user);
	if (config > 0)
		return "it holds your own configuration of pale";
	state = overlaps(dir, user->state_dir, user);
	if (state > 0)
		return "it holds what pale remembers";
	if (user->runtime_dir &&
	    (path_covers(dir, user->runtime_dir) || path_covers(user->runtime_dir, dir)))
		return "it holds what pale's sessions are reached by";
	if (home < 0 || config < 0 || state < 0)
		return "whether it holds your home, configuration or state cannot be looked up";
	for (size_t i = 0; i < array_len(system_dirs); i++) {
		const char *path = system_dirs[i];
		char link[1];

		if (path_covers(dir, path))
			return "it holds a system directory";
		if (near_root && readlink(path, link, sizeof(link)) > 0 && holds(dir, path, user))
			return "it is a system directory";
	}
	return not_a_project(dir, user);
}

static int refuse(const char *dir, const char *why, struct err *err)
{
	err_set(err, ERR_USAGE, -EINVAL, "%s cannot be a workspace: %s", dir, why);
	return err_hint(err, -EINVAL, WHERE_TO_GO);
}

struct walk {
	const struct user *user;
	char *dir; /* where we are */
	uid_t cwd_owner;
};

/* Root works in the checkouts of others: there it is the cwd's owner's. */
static bool is_owned_by_us(const struct walk *w, const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == w->user->uid ||
	       (w->user->uid == 0 && st->st_uid == w->cwd_owner);
}

/* By its full name, unless that is longer than the kernel takes at once. */
static int look_at(const char *dir, const char *name, struct stat *ret)
{
	_cleanup_(freep) char *path = path_join(dir, name);
	_cleanup_(fd_closep) int fd = -1;

	if (!path)
		return -ENOMEM;
	if (strlen(path) < PATH_MAX)
		return lstat(path, ret) < 0 ? -errno : 0;
	fd = fd_open(dir, O_PATH | O_DIRECTORY);
	return fd < 0 || fstatat(fd, name, ret, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* 1: NAME is in the folder and that can be a workspace. A pale.toml in one that
 * cannot is an error if it is ours or root's. */
static int walk_has(struct walk *w, const char *name, struct err *err)
{
	const char *why;
	struct stat st;
	int r = look_at(w->dir, name, &st);

	if (r == -ENOENT)
		return 0;
	if (r < 0) {
		err_sys(err, r, "look for %s in %s", name, w->dir);
		return err_hint(err, r, "use --workspace DIR");
	}
	if (strcmp(name, ".git") == 0 && !is_owned_by_us(w, &st))
		return 0; /* anybody can put one into a shared folder */
	why = refusal(w->dir, w->user);
	if (!why)
		return 1;
	if (strcmp(name, "pale.toml") == 0 && (st.st_uid == 0 || st.st_uid == w->user->uid)) {
		err_set(err, ERR_CONFIG, -EINVAL,
			"%s/pale.toml: this folder cannot be a workspace: %s",
			strcmp(w->dir, "/") == 0 ? "" : w->dir, why);
		return err_hint(err, -EINVAL,
				"move the file into a project, or to your own configuration");
	}
	return 0;
}

/* 1: the folder is the workspace. */
static int walk_visit(struct walk *w, struct err *err)
{
	int r = walk_has(w, "pale.toml", err);

	return r != 0 ? r : walk_has(w, ".git", err);
}

static bool is_ours(const struct walk *w, const char *dir, const char *name)
{
	_cleanup_(freep) char *path = path_join(dir, name);
	struct stat st;

	return path && lstat(path, &st) == 0 && is_owned_by_us(w, &st);
}

/* A command cannot make pale remember a folder: that is the user's doing. */
static bool is_remembered(const struct user *user, const char *root)
{
	_cleanup_(freep) char *dir = user->state_dir ? state_name(user->state_dir, root) : NULL;
	struct stat st;

	return dir && lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == user->uid;
}

static bool has_rules(const struct walk *w, const char *dir)
{
	return is_ours(w, dir, "pale.toml") ||
	       (is_ours(w, dir, ".paleignore") && is_ours(w, dir, ".git"));
}

/* A repository below a workspace with rules is held by them: a command that runs there can
 * make one. A pale.toml has rules of its own. */
static int rise(const struct walk *w, char **root)
{
	_cleanup_(freep) char *dir = strdup(*root);

	if (!dir)
		return -ENOMEM;
	while (!is_ours(w, *root, "pale.toml") && !is_remembered(w->user, *root)) {
		char *slash = strrchr(dir, '/');

		if (slash == dir || (w->user->home && path_covers(dir, w->user->home)))
			break;
		*slash = '\0';
		if (!has_rules(w, dir) || refusal(dir, w->user))
			continue;
		free(*root);
		*root = strdup(dir);
		if (!*root)
			return -ENOMEM;
	}
	return 0;
}

static int walk_up(const char *cwd, const struct user *user, char **ret_root, struct err *err)
{
	_cleanup_(freep) char *dir = strdup(cwd);
	struct walk w = {.user = user, .dir = dir};
	const char *why;
	struct stat st;
	int r;

	if (!dir)
		return err_oom(err);
	if (stat(cwd, &st) < 0)
		return err_sys(err, -errno, "stat %s", cwd);
	w.cwd_owner = st.st_uid;
	for (;;) {
		char *slash;

		r = walk_visit(&w, err);
		if (r < 0)
			return r;
		if (r > 0) {
			r = rise(&w, &dir);
			*ret_root = take_ptr(dir);
			return r < 0 ? err_oom(err) : 0;
		}
		if (strcmp(dir, "/") == 0)
			break;
		slash = strrchr(dir, '/');
		slash[slash == dir ? 1 : 0] = '\0';
	}
	why = refusal(cwd, user);
	if (why)
		return refuse(cwd, why, err);
	*ret_root = strdup(cwd);
	return *ret_root ? 0 : err_oom(err);
}

/* Does DIR hold NAME, as far as it counts? */
static bool has_name(const char *dir, const char *name, struct walk *w)
{
	_cleanup_(freep) char *path = path_join(dir, name);
	struct stat st;

	return path && lstat(path, &st) == 0 &&
	       (str_eq(name, "pale.toml") || is_owned_by_us(w, &st));
}

static char *guess_up(void)
{
	_cleanup_(freep) char *cwd = getcwd(NULL, 0);
	_cleanup_(freep) char *dir = cwd && cwd[0] == '/' ? strdup(cwd) : NULL;
	struct user user = {.uid = geteuid()};
	struct walk w = {.user = &user};
	struct stat st;

	if (!dir || (user.uid == 0 && stat(".", &st) < 0))
		return NULL;
	w.cwd_owner = user.uid == 0 ? st.st_uid : user.uid;
	while (dir[1] && !has_name(dir, "pale.toml", &w) && !has_name(dir, ".git", &w)) {
		char *slash = strrchr(dir, '/');

		slash[slash == dir ? 1 : 0] = '\0';
	}
	return dir[1] ? take_ptr(dir) : take_ptr(cwd);
}

char *workspace_guess(const char *asked)
{
	char *root = NULL;

	if (!asked)
		return guess_up();
	return asked[0] && real_dir(asked, &root) == 0 ? root : NULL;
}

static int asked_root(const char *asked, const struct user *user, char **ret_root, struct err *err)
{
	_cleanup_(freep) char *root = NULL;
	const char *why;
	int r;

	r = asked[0] ? real_dir(asked, &root) : -ENOENT;
	if (r < 0) {
		err_sys(err, r, "workspace '%s'", asked);
		if (err)
			err->code = ERR_USAGE;
		return r;
	}
	why = refusal(root, user);
	if (why)
		return refuse(root, why, err);
	*ret_root = take_ptr(root);
	return 0;
}

static int current_dir(char **ret, struct err *err)
{
	char *cwd = getcwd(NULL, 0);
	int r = cwd ? 0 : -errno;

	if (cwd && cwd[0] == '/') {
		*ret = cwd;
		return 0;
	}
	free(cwd);
	if (r == -ENAMETOOLONG || r == -ERANGE) {
		err_set(err, ERR_USAGE, -ENAMETOOLONG,
			"the name of the current folder is longer than the kernel's %d bytes",
			PATH_MAX - 1);
		return err_hint(err, -ENAMETOOLONG, WHERE_TO_GO);
	}
	if (r == -ENOMEM)
		return err_oom(err);
	if (r == -EACCES)
		err_set(err, ERR_USAGE, r, "the current folder's parents cannot be read");
	else
		err_set(err, ERR_USAGE, r = -ENOENT, "the current folder has been deleted");
	return err_hint(err, r, WHERE_TO_GO);
}

char *state_name(const char *base, const char *path)
{
	char name[STATE_NAME_MAX + 1] = {0}, hex[SHA256_HEX];
	const char *base_name = path_basename(path);

	memcpy(name, base_name, strnlen(base_name, STATE_NAME_MAX));
	for (char *p = name; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '/')
			*p = '_';
	sha256_hex(path, strlen(path), hex);
	hex[STATE_DIGITS] = '\0';
	return str_printf("%s/%s-%s", base, name, hex);
}

int workspace_find(const char *asked, const struct user *user, struct workspace *ret,
		   struct err *err)
{
	_cleanup_(workspace_release) struct workspace ws = {0};
	int r;

	r = current_dir(&ws.cwd, asked && asked[0] == '/' ? NULL : err);
	if (r < 0 && !(asked && asked[0] == '/'))
		return r;
	r = asked ? asked_root(asked, user, &ws.root, err) : walk_up(ws.cwd, user, &ws.root, err);
	if (r < 0)
		return r;
	if (!ws.cwd || !path_covers(ws.root, ws.cwd)) {
		free(ws.cwd);
		ws.cwd = strdup(ws.root);
		if (!ws.cwd)
			return err_oom(err);
	}
	if (user->state_dir) {
		ws.state_dir = state_name(user->state_dir, ws.root);
		if (!ws.state_dir)
			return err_oom(err);
	}
	*ret = ws;
	ws = (struct workspace){0};
	return 0;
}

void workspace_release(struct workspace *workspace)
{
	free(workspace->root);
	free(workspace->cwd);
	free(workspace->state_dir);
	*workspace = (struct workspace){0};
}
