/* SPDX-License-Identifier: MIT */
#include "config/user.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"

enum { PASSWD_MAX = 64 << 20 };

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
 * the C library offers for one file shares a buffer between threads. The line of who is called
 * NAME, up to LEN, or, where that is NULL, has UID; FIELDS are in TEXT. */
static bool passwd_find(const char *name, size_t len, uid_t uid, struct str *text, char *fields[7])
{
	_cleanup_(fd_closep) int fd = fd_open("/etc/passwd", O_RDONLY);

	if (fd < 0 || fd_read_all(fd, PASSWD_MAX, text) < 0)
		return false;
	for (char *next = text->data, *line; (line = strsep(&next, "\n"));) {
		char *end;

		if (!passwd_split(line, fields))
			continue;
		if (name ? strlen(fields[0]) == len && memcmp(fields[0], name, len) == 0
			 : strtoul(fields[2], &end, 10) == uid && !*end)
			return true;
	}
	return false;
}

int user_home_of(const char *name, size_t len, char **ret)
{
	_cleanup_(str_release) struct str text = {0};
	char *fields[7];

	*ret = NULL;
	return passwd_find(name, len, 0, &text, fields) ? take_absolute(fields[5], ret) : 0;
}

static int passwd_probe(uid_t uid, char **name, char **home)
{
	_cleanup_(str_release) struct str text = {0};
	char *fields[7];

	if (!passwd_find(NULL, 0, uid, &text, fields))
		return 0;
	*name = strdup(fields[0]);
	return *name ? take_absolute(fields[5], home) : -ENOMEM;
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

/* /run/user/UID, and whether it is private: -1 as long as nobody looked. */
struct usual {
	char path[40];
	int is_private;
};

static bool usual_is_private(struct usual *usual, uid_t uid)
{
	if (usual->is_private < 0)
		usual->is_private = is_private(usual->path, uid);
	return usual->is_private;
}

static char *runtime_dir(uid_t uid, struct usual *usual)
{
	_cleanup_(freep) char *dir = NULL;

	usual->is_private = -1;
	snprintf(usual->path, sizeof(usual->path), "/run/user/%u", (unsigned)uid);
	if (take_absolute(getenv("XDG_RUNTIME_DIR"), &dir) < 0)
		return NULL;
	if (dir && is_private(dir, uid))
		return path_join(dir, "pale");
	return usual_is_private(usual, uid) ? path_join(usual->path, "pale") : NULL;
}

char *runtime_dir_guess(void)
{
	struct usual usual;

	return runtime_dir(geteuid(), &usual);
}

/* Who has another XDG_RUNTIME_DIR, or none, keeps sessions there. */
static int login_runtime(struct user *user, struct usual *usual)
{
	if ((user->runtime_dir && path_covers(usual->path, user->runtime_dir)) ||
	    !usual_is_private(usual, user->uid))
		return 0;
	user->login_runtime_dir = path_join(usual->path, "pale");
	return user->login_runtime_dir ? 0 : -ENOMEM;
}

int user_probe(struct user *ret, struct err *err)
{
	struct user user = {.uid = geteuid(), .gid = getegid()};
	struct usual usual;
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
	user.runtime_dir = runtime_dir(user.uid, &usual);
	if (r == 0 && !user.runtime_dir && user.state_dir) {
		user.runtime_dir = path_join(user.state_dir, "run");
		r = user.runtime_dir ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = login_runtime(&user, &usual);
	if (r < 0) {
		user_release(&user);
		return err_oom(err);
	}
	*ret = user;
	return 0;
}

static void forget_places(struct user *user)
{
	while (user->places_len > 0)
		free(user->places[--user->places_len].real);
}

/* Does PATH hold one that no link leads to? Then none leads to PATH either. */
static bool is_plain(const struct user *user, const char *path)
{
	for (unsigned i = 0; i < user->places_len; i++)
		if (str_eq(user->places[i].real, user->places[i].path) &&
		    path_covers(path, user->places[i].path))
			return true;
	return false;
}

void user_resolve(struct user *user)
{
	const char *const paths[] = {user->config_dir, user->state_dir, user->home, user->pw_home};

	forget_places(user);
	for (size_t i = 0; i < array_len(paths); i++) {
		struct user_place place = {.path = paths[i]};

		if (!paths[i])
			continue;
		if (!is_plain(user, paths[i]))
			place.error = path_resolve(paths[i], &place.real);
		else if (!(place.real = strdup(paths[i])))
			place.error = -ENOMEM;
		user->places[user->places_len++] = place;
	}
}

int user_path_resolve(const struct user *user, const char *path, char **ret)
{
	for (unsigned i = 0; i < user->places_len; i++) {
		const struct user_place *place = &user->places[i];

		if (!str_eq(place->path, path))
			continue;
		if (place->error < 0)
			return place->error;
		*ret = strdup(place->real);
		return *ret ? 0 : -ENOMEM;
	}
	return path_resolve(path, ret);
}

void user_release(struct user *user)
{
	forget_places(user);
	free(user->name);
	free(user->home);
	free(user->pw_home);
	free(user->config_dir);
	free(user->state_dir);
	free(user->runtime_dir);
	free(user->login_runtime_dir);
	*user = (struct user){0};
}
