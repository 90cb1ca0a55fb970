/* SPDX-License-Identifier: MIT */
#include "plan/walk.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "plan/protected.h"

enum { LINKS_MAX = 40 };

struct step {
	struct str at; /* without links; "" is the root */
	struct str way;
	size_t taken; /* of the way; the rest is still to be followed */
	unsigned links;
};

static void step_release(struct step *s)
{
	str_release(&s->at);
	str_release(&s->way);
}

static const char *rest(const struct step *s)
{
	return str_text(&s->way) + s->taken;
}

/* Cut the next name off the rest; empty at the end. */
static int take_name(struct step *s, char name[NAME_MAX + 1])
{
	const char *from = rest(s);
	size_t skip = strspn(from, "/"), len = strcspn(from + skip, "/");

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, from + skip, len);
	name[len] = '\0';
	s->taken += skip + len;
	return 0;
}

static int follow(struct step *s, const char *target)
{
	struct str way = {0};

	if (++s->links > LINKS_MAX)
		return -ELOOP;
	if (str_appendf(&way, "%s/%s", target, rest(s)) < 0) {
		str_release(&way);
		return -ENOMEM;
	}
	str_release(&s->way);
	s->way = way;
	s->taken = 0;
	if (target[0] == '/')
		str_truncate(&s->at, 0);
	return 0;
}

static void go_up(struct step *s)
{
	const char *slash = s->at.len ? strrchr(s->at.data, '/') : NULL;

	if (slash)
		str_truncate(&s->at, (size_t)(slash - s->at.data));
}

static const char *folder(const struct step *s)
{
	return s->at.len ? s->at.data : "/";
}

/* The folder where S is depends on its name. 1, or -errno. */
static int note_folder(struct walk *walk, const struct step *s, enum protected_type type)
{
	const char *slash = s->at.len ? strrchr(s->at.data, '/') : NULL;
	_cleanup_(freep) char *dir = NULL;
	struct file_id id;
	struct stat st;
	int r;

	if (!slash)
		return 1;
	dir = slash == s->at.data ? strdup("/") : strndup(s->at.data, (size_t)(slash - s->at.data));
	if (!dir)
		return -ENOMEM;
	if (stat(s->at.data, &st) < 0)
		return -errno;
	id = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
	r = protection_add(walk->protection, dir, slash + 1, type, id, NULL);
	return r < 0 ? r : 1;
}

/* It ended in ".", ".." or nothing: where we are. */
static int end_here(struct walk *walk, const struct step *s)
{
	struct stat st;

	if (stat(folder(s), &st) < 0)
		return -errno;
	walk->real = strdup(folder(s));
	walk->mode = st.st_mode;
	walk->id = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
	if (!walk->real)
		return -ENOMEM;
	return note_folder(walk, s, walk->keep_writable ? PROTECTED_PARENT : PROTECTED_DIR);
}

/* NAME is in the folder where S is. 1: this is the end. */
static int enter(struct walk *walk, struct step *s, const char *name)
{
	_cleanup_(freep) char *path = path_join(folder(s), name);
	bool last = !rest(s)[strspn(rest(s), "/")];
	char target[PATH_MAX];
	struct file_id id;
	struct stat st;
	ssize_t n;
	int r;

	if (!path)
		return -ENOMEM;
	if (lstat(path, &st) < 0) {
		/* What we cannot look into is kept as it is. */
		if (errno == EACCES)
			return note_folder(walk, s, PROTECTED_DIR);
		if (errno != ENOENT)
			return -errno;
		r = protection_add(walk->protection, folder(s), name, PROTECTED_ABSENT,
				   (struct file_id){0}, NULL);
		return r < 0 ? r : 1;
	}
	id = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
	if (S_ISLNK(st.st_mode)) {
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			return -errno;
		target[n] = '\0';
		r = protection_add(walk->protection, folder(s), name, PROTECTED_LINK, id, target);
		return r < 0 ? r : follow(s, target);
	}
	/* A file where a folder should be must not become one. */
	if (!S_ISDIR(st.st_mode) || (last && !walk->keep_writable)) {
		r = protection_add(walk->protection, folder(s), name,
				   S_ISDIR(st.st_mode) ? PROTECTED_DIR : PROTECTED_FILE, id, NULL);
		if (r < 0 || !last)
			return r < 0 ? r : 1;
	} else if (last) {
		r = protection_add(walk->protection, folder(s), name, PROTECTED_PARENT, id, NULL);
		if (r < 0)
			return r;
	}
	if (last) {
		walk->mode = st.st_mode;
		walk->id = id;
		walk->real = take_ptr(path);
		return 1;
	}
	str_truncate(&s->at, 0);
	return str_append(&s->at, path);
}

static int begin(struct step *s, const char *base, const char *path)
{
	if (path[0] == '/')
		return str_append(&s->way, path);
	/* The base is known to be real. */
	if (!str_eq(base, "/") && str_append(&s->at, base) < 0)
		return -ENOMEM;
	return str_append(&s->way, path);
}

int walk_path(struct walk *walk, const char *base, const char *path, struct err *err)
{
	_cleanup_(step_release) struct step s = {0};
	char name[NAME_MAX + 1];
	int r = begin(&s, base, path);

	while (r == 0) {
		r = take_name(&s, name);
		if (r < 0)
			break;
		if (!*name)
			r = end_here(walk, &s);
		else if (str_eq(name, ".."))
			go_up(&s);
		else if (!str_eq(name, "."))
			r = enter(walk, &s, name);
	}
	return r < 0 ? err_sys(err, r, "follow %s in %s", path, base) : 0;
}

void walk_release(struct walk *walk)
{
	free(walk->real);
	walk->real = NULL;
}
