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
#define WHERE_TO_GO    "cd into a project or use --workspace DIR"

/* Neither they nor what holds them can be a project. */
static const char *const system_dirs[] = {
	"/etc", "/usr",  "/tmp", "/var/tmp", "/proc", "/sys",  "/dev",
	"/run", "/boot", "/bin", "/sbin",    "/lib",  "/home",
};

static void fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

/* VALUE when it is an absolute path other than "/", normalized; else *ret is
 * left as it is. */
static int take_absolute(const char *value, char **ret)
{
	_cleanup_(freep) char *path = NULL;
	int r;

	if (!value || value[0] != '/')
		return 0;
	r = path_normalize("/", value, &path);
	if (r < 0)
		return r;
	if (strcmp(path, "/") != 0) {
		free(*ret);
		*ret = take_ptr(path);
	}
	return 0;
}

/* NAME:PASSWORD:UID:GID:TEXT:HOME:SHELL, cut at the colons. False: it is none. */
static bool passwd_split(char *line, char *fields[7])
{
	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < 7; i++) {
		fields[i] = line;
		line += strcspn(line, ":");
		if (i < 6 && !*line)
			return false;
		if (*line)
			*line++ = '\0';
	}
	return fields[0][0] && fields[2][0] >= '0' && fields[2][0] <= '9';
}

/* The passwd file is read by ourselves: a static program has no NSS, and what
 * the C library offers for one file shares a buffer between threads. */
static int passwd_probe(uid_t uid, char **name, char **home)
{
	_cleanup_(fclosep) FILE *f = fopen("/etc/passwd", "re");
	_cleanup_(freep) char *line = NULL;
	size_t size = 0;

	if (!f)
		return 0;
	while (getline(&line, &size, f) >= 0) {
		char *fields[7], *end;

		if (!passwd_split(line, fields) || strtoul(fields[2], &end, 10) != uid || *end)
			continue;
		*name = strdup(fields[0]);
		return *name ? take_absolute(fields[5], home) : -ENOMEM;
	}
	return 0;
}

/* $VARIABLE/pale when the variable is an absolute path, else HOME/REST. */
static int xdg_dir(const char *variable, const char *home, const char *rest, char **ret)
{
	_cleanup_(freep) char *base = NULL;
	int r;

	r = take_absolute(getenv(variable), &base);
	if (r < 0)
		return r;
	if (base)
		*ret = path_join(base, "pale");
	else if (home)
		*ret = path_join(home, rest);
	else
		return 0;
	return *ret ? 0 : -ENOMEM;
}

/* A folder that nobody else can so much as look into. */
static bool is_private(const char *path, uid_t uid)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid &&
	       (st.st_mode & 07777) == 0700;
}

char *runtime_dir_guess(void)
{
	_cleanup_(freep) char *dir = NULL;
	uid_t uid = geteuid();
	char usual[40];

	if (take_absolute(getenv("XDG_RUNTIME_DIR"), &dir) < 0)
		return NULL;
	if (dir && is_private(dir, uid))
		return path_join(dir, "pale");
	snprintf(usual, sizeof(usual), "/run/user/%u", (unsigned)uid);
	return is_private(usual, uid) ? path_join(usual, "pale") : NULL;
}

/* Who has another XDG_RUNTIME_DIR, or none, keeps sessions there. */
static int login_runtime(struct user *user)
{
	char usual[40];

	snprintf(usual, sizeof(usual), "/run/user/%u", (unsigned)user->uid);
	if ((user->runtime_dir && path_covers(usual, user->runtime_dir)) ||
	    !is_private(usual, user->uid))
		return 0;
	user->login_runtime_dir = path_join(usual, "pale");
	return user->login_runtime_dir ? 0 : -ENOMEM;
}

int user_probe(struct user *ret, struct err *err)
{
	struct user user = {.uid = geteuid(), .gid = getegid()};
	const char *home;
	int r;

	r = passwd_probe(user.uid, &user.name, &user.pw_home);
	if (r == 0)
		r = take_absolute(getenv("HOME"), &user.home);
	if (r == 0 && !user.home && user.pw_home) {
		user.home = strdup(user.pw_home);
		r = user.home ? 0 : -ENOMEM;
	}
	home = user.pw_home ? user.pw_home : user.home;
	if (r == 0)
		r = xdg_dir("XDG_CONFIG_HOME", home, ".config/pale", &user.config_dir);
	if (r == 0)
		r = xdg_dir("XDG_STATE_HOME", home, ".local/state/pale", &user.state_dir);
	user.runtime_dir = runtime_dir_guess();
	if (r == 0 && !user.runtime_dir && user.state_dir) {
		user.runtime_dir = path_join(user.state_dir, "run");
		r = user.runtime_dir ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = login_runtime(&user);
	if (r < 0) {
		user_release(&user);
		return err_oom(err);
	}
	*ret = user;
	return 0;
}

void user_release(struct user *user)
{
	free(user->name);
	free(user->home);
	free(user->pw_home);
	free(user->config_dir);
	free(user->state_dir);
	free(user->runtime_dir);
	free(user->login_runtime_dir);
	*user = (struct user){0};
}

/* The symlink-free name of directory PATH. */
static int real_dir(const char *path, char **ret)
{
	_cleanup_(fd_closep) int fd = path_open_named(path, O_PATH | O_DIRECTORY, ret);

	return fd < 0 ? fd : 0;
}

/* Does DIR, which is symlink-free, hold PATH or what PATH leads to? Negative: that
 * cannot be told. */
static int holds(const char *dir, const char *path)
{
	_cleanup_(freep) char *real = NULL;
	int r;

	if (!path)
		return 0;
	if (path_covers(dir, path))
		return 1;
	r = path_resolve(path, &real);
	return r < 0 ? r : path_covers(dir, real);
}

/* … or is it held by it? */
static int overlaps(const char *dir, const char *path)
{
	_cleanup_(freep) char *real = NULL;
	int r;

	if (!path)
		return 0;
	if (path_covers(dir, path) || path_covers(path, dir))
		return 1;
	r = path_resolve(path, &real);
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
	int home = holds(dir, user->home), config, state;

	if (home == 0 && !str_eq(user->home, user->pw_home))
		home = holds(dir, user->pw_home);
	if (home > 0)
		return "it holds your whole home";
	config = overlaps(dir, user->config_dir);
	if (config > 0)
		return "it holds your own configuration of pale";
	state = overlaps(dir, user->state_dir);
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
		if (near_root && readlink(path, link, sizeof(link)) > 0 && holds(dir, path))
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

/* 1: NAME is in the folder and that can be a workspace. A pale.toml in one that
 * cannot is an error if it is ours or root's. */
static int walk_has(struct walk *w, int fd, const char *name, struct err *err)
{
	const char *why;
	struct stat st;
	int r;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		r = -errno;
		if (r == -ENOENT)
			return 0;
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
	_cleanup_(fd_closep) int fd = fd_open(w->dir, O_PATH | O_DIRECTORY);
	int r;

	if (fd < 0)
		return err_sys(err, -errno, "open folder %s", w->dir);
	r = walk_has(w, fd, "pale.toml", err);
	return r != 0 ? r : walk_has(w, fd, ".git", err);
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

char *name_by_path(const char *base, const char *path, int digits)
{
	char name[STATE_NAME_MAX + 1], hex[SHA256_HEX];

	snprintf(name, sizeof(name), "%s", path_basename(path));
	for (char *p = name; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '/')
			*p = '_';
	sha256_hex(path, strlen(path), hex);
	return str_printf("%s/%s-%.*s", base, name, digits, hex);
}

char *state_name(const char *base, const char *path)
{
	return name_by_path(base, path, 6);
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
