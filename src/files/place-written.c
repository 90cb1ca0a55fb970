/* SPDX-License-Identifier: MIT */
/* Where something is written: found or made, unless it is protected. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "files/reply.h"
#include "files/place-impl.h"
#include "files/request.h"
#include "policy/protected-names.h"

/* The path of an absent file, and what of it is there. */
struct absent {
	int fd;     /* the innermost folder that exists */
	char *real; /* its name, without links */
	const char *missing;
};

static void absent_release(struct absent *absent)
{
	fd_close(absent->fd);
	free(absent->real);
}

static bool is_guarded(const struct file_request *request, const char *path)
{
	_cleanup_(str_release) struct str folded = {0};

	if (protected_fold(path, &folded) < 0)
		return true;
	for (size_t i = 0; i < request->guards.len; i++) {
		_cleanup_(str_release) struct str guard = {0};

		if (protected_fold(request->guards.items[i], &guard) < 0 ||
		    path_covers(str_text(&guard), str_text(&folded)))
			return true;
	}
	return false;
}

/* Another spelling of a name may be the same file to the filesystem. */
static bool is_guarded_file(const struct file_request *request, const struct stat *st)
{
	for (size_t i = 0; i < request->guards.len; i++) {
		struct stat guard;

		if (lstat(request->guards.items[i], &guard) == 0 && guard.st_dev == st->st_dev &&
		    guard.st_ino == st->st_ino)
			return true;
	}
	return false;
}

static bool is_protected(const struct file_request *request, const char *path)
{
	const char *workspace = request->workspace;

	if (is_guarded(request, path))
		return true;
	if (!workspace || !path_covers(workspace, path) || !path[strlen(workspace)])
		return false;
	return protected_is_alike(path + strlen(workspace) + 1);
}

static int refuse(struct reply *reply, const char *path)
{
	reply_fail(reply, FILE_PROTECTED,
		   "%.800s is protected: programs outside of the sandbox act on it", path);
	reply_hint(reply, "let the user change it outside; a command may propose it in "
			  "a staged run, for review");
	return 1;
}

/* A name that a terminal or a list would not show as it is. */
static bool has_controls(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	return false;
}

static bool has_dots(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && path[0] == '.' && path[1] == '.')
			return true;
		path += len + strspn(path + len, "/");
	}
	return false;
}

/* Split ABSOLUTE, which does not exist, behind the innermost folder that does. */
static int find_absent(const struct place *place, char *absolute, struct absent *ret)
{
	size_t len = strlen(absolute);

	for (;;) {
		while (len > 0 && absolute[len - 1] != '/')
			len--;
		if (len <= 1)
			return -EXDEV;
		absolute[len - 1] = '\0';
		ret->fd = place_open_at(place, absolute, O_PATH | O_DIRECTORY);
		absolute[len - 1] = '/';
		if (ret->fd >= 0)
			break;
		if (ret->fd != -ENOENT)
			return ret->fd;
		len--;
	}
	ret->missing = absolute + len;
	return path_of_fd(ret->fd, &ret->real);
}

/* The folder that the file will be in. */
static int make_parents(const struct absent *absent)
{
	const char *slash = strrchr(absent->missing, '/');
	_cleanup_(freep) char *folders = NULL;

	if (!slash)
		return fcntl(absent->fd, F_DUPFD_CLOEXEC, 3);
	folders = strndup(absent->missing, (size_t)(slash - absent->missing));
	return folders ? path_mkdir_beneath(absent->fd, folders, 0777) : -ENOMEM;
}

static int check_absent(const struct place *place, const char *path, const struct absent *absent,
			const char *whole, struct reply *reply)
{
	struct stat st;

	if (has_dots(absent->missing))
		return place_fail(reply, path, -ENOENT);
	if (has_controls(absent->missing))
		return reply_fail(reply, FILE_BAD_PATH,
				  "no file with a control character in its name is made here");
	if (is_protected(place->request, whole))
		return refuse(reply, path);
	/* It did not open, but it is there: a link that leads nowhere. */
	if (!strchr(absent->missing, '/') &&
	    fstatat(absent->fd, absent->missing, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return reply_fail(reply, FILE_OUTSIDE,
				  "%.800s is a link that leads to nothing here", path);
	return 0;
}

static int find_place(const struct place *place, const char *path, char *absolute,
		      struct target *ret, struct reply *reply)
{
	_cleanup_(absent_release) struct absent absent = {.fd = -1};
	const char *rest;
	int r = find_absent(place, absolute, &absent);

	if (r < 0)
		return place_fail(reply, path, r);
	ret->path = path_join(absent.real, absent.missing);
	if (!ret->path)
		return place_fail(reply, path, -ENOMEM);
	r = check_absent(place, path, &absent, ret->path, reply);
	if (r != 0)
		return r;
	ret->root = place_root_of(place, ret->path, &rest);
	ret->parent = make_parents(&absent);
	return ret->parent < 0
		       ? place_fail_written(reply, path, place_refusal(absent.fd, ret->parent))
		       : 0;
}

/* The folder of ret->path, and that it is still in there. */
static int find_parent(const struct place *place, struct target *ret)
{
	const char *rest, *slash;
	_cleanup_(freep) char *folder = NULL;
	struct stat st;

	if (!ret->root)
		return -EROFS;
	if (!ret->root->is_dir)
		return 0; /* a rule is about it alone, and nothing can take its place */
	(void)place_root_of(place, ret->path, &rest);
	slash = strrchr(rest, '/');
	folder = slash ? strndup(rest, (size_t)(slash - rest)) : strdup(".");
	if (!folder)
		return -ENOMEM;
	ret->parent = path_open_nolink(ret->root->fd, folder, O_PATH | O_DIRECTORY, 0);
	if (ret->parent < 0)
		return ret->parent;
	if (fstatat(ret->parent, target_name(ret), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return st.st_dev == ret->st.st_dev && st.st_ino == ret->st.st_ino ? 0 : -ESTALE;
}

static int find_file(const struct place *place, const char *path, struct target *ret,
		     struct reply *reply)
{
	int r = place_fill(place, ret);

	if (r < 0)
		return place_fail(reply, path, r);
	if (is_protected(place->request, ret->path) || is_guarded_file(place->request, &ret->st))
		return refuse(reply, path);
	if (!S_ISREG(ret->st.st_mode))
		return reply_fail(reply, FILE_NOT_REGULAR, "%.800s is %s, not a file", path,
				  place_type(ret->st.st_mode));
	r = find_parent(place, ret);
	return r < 0 ? place_fail(reply, path, r) : 0;
}

static int find_written(const struct place *place, const char *path, bool exists,
			struct target *ret, struct reply *reply)
{
	_cleanup_(freep) char *absolute = NULL;
	int r;

	if (place_check_name(path, reply) != 0)
		return 1;
	r = place_absolute(place, path, &absolute);
	if (r < 0)
		return place_fail(reply, path, r);
	ret->fd = place_open_at(place, absolute, O_PATH);
	if (ret->fd >= 0)
		return find_file(place, path, ret, reply);
	if (ret->fd != -ENOENT || exists)
		return place_fail(reply, path, ret->fd);
	if (absolute[strlen(absolute) - 1] == '/')
		return reply_fail(reply, FILE_BAD_PATH, "%.800s is the name of a folder", path);
	return find_place(place, path, absolute, ret, reply);
}

int place_find_written(const struct place *place, const char *path, struct target *ret,
		       struct reply *reply)
{
	return find_written(place, path, false, ret, reply);
}

int place_find_existing(const struct place *place, const char *path, struct target *ret,
			struct reply *reply)
{
	return find_written(place, path, true, ret, reply);
}
