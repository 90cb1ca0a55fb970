/* SPDX-License-Identifier: MIT */
#include "files/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "files/reply.h"
#include "files/place-impl.h"
#include "files/request.h"

int place_open(const struct file_request *request, struct place *ret)
{
	*ret = (struct place){.request = request};
	if (request->roots.len > PLACE_ROOTS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < request->roots.len; i++) {
		struct place_root *root = &ret->roots[ret->len++];
		struct stat st;

		root->path = request->roots.items[i];
		root->fd = fd_open(root->path, O_PATH | O_NOFOLLOW);
		root->is_dir = root->fd >= 0 && fstat(root->fd, &st) == 0 && S_ISDIR(st.st_mode);
	}
	return 0;
}

void place_close(struct place *place)
{
	for (size_t i = 0; i < place->len; i++)
		fd_close(place->roots[i].fd);
	place->len = 0;
}

void target_release(struct target *target)
{
	fd_close(target->fd);
	fd_close(target->parent);
	free(target->path);
	*target = (struct target)TARGET_NONE;
}

const char *target_name(const struct target *target)
{
	return path_basename(target->path);
}

const char *target_shown(const struct target *target, const struct file_request *request)
{
	const char *rest;

	if (!path_covers(request->cwd, target->path) || str_eq(request->cwd, "/"))
		return target->path;
	rest = target->path + strlen(request->cwd);
	return *rest ? rest + 1 : ".";
}

const char *place_type(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "a file";
	case S_IFDIR:
		return "a folder";
	case S_IFIFO:
		return "a fifo";
	case S_IFCHR:
	case S_IFBLK:
		return "a device";
	case S_IFSOCK:
		return "a socket";
	case S_IFLNK:
		return "a link";
	default:
		return "something else";
	}
}

int place_fail(struct reply *reply, const char *path, int r)
{
	switch (-r) {
	case ENOENT:
	case ENOTDIR:
		return reply_fail(reply, FILE_NOT_FOUND, "%.800s does not exist", path);
	case EXDEV:
		reply_fail(reply, FILE_OUTSIDE, "%.800s is outside of the workspace", path);
		reply_hint(reply, "the boundary's paths_readable and paths_writable are inside, "
				  "too; pale why says more");
		return 1;
	case ELOOP:
		return reply_fail(reply, FILE_OUTSIDE,
				  "%.800s leads through a link that cannot be followed", path);
	case EACCES:
		return reply_fail(reply, FILE_DENIED, "%.800s cannot be read here", path);
	case EROFS:
	case EPERM:
	case EBUSY:
		return reply_fail(reply, FILE_READONLY, "%.800s cannot be written here", path);
	case ENAMETOOLONG:
		return reply_fail(reply, FILE_BAD_PATH, "%.300s… is too long a name", path);
	case ENOMEM:
		return reply_fail(reply, FILE_FAILED, "no memory");
	case EOVERFLOW:
		reply_fail(reply, FILE_FAILED,
			   "%.800s belongs to, or has an access list that names, somebody who has "
			   "no id here, and would lose that",
			   path);
		reply_hint(reply, "a command that writes into it, as cat > does, keeps both");
		return 1;
	default:
		return reply_fail(reply, FILE_FAILED, "%.800s: %s", path, strerror(-r));
	}
}

int place_fail_written(struct reply *reply, const char *path, int r)
{
	if (r != -EACCES)
		return place_fail(reply, path, r);
	return reply_fail(reply, FILE_DENIED,
			  "%.800s cannot be written: its permissions, or those of its folder, do "
			  "not allow it",
			  path);
}

/* Absolute, no "//" and "/." on the way; ".." stays, for the kernel to walk. */
int place_absolute(const struct place *place, const char *path, char **ret)
{
	_cleanup_(str_release) struct str out = {0};
	const char *parts[] = {path[0] == '/' ? "" : place->request->cwd, path};
	bool slash = path[strlen(path) - 1] == '/';
	int r = str_append(&out, "");

	for (size_t i = 0; i < array_len(parts); i++) {
		for (const char *at = parts[i]; *at && r == 0;) {
			size_t len = strcspn(at, "/");

			if (len > 0 && !(len == 1 && at[0] == '.')) {
				r = str_append_char(&out, '/');
				if (r == 0)
					r = str_append_bytes(&out, at, len);
			}
			at += len + strspn(at + len, "/");
		}
	}
	if (r == 0 && (out.len == 0 || slash))
		r = str_append_char(&out, '/');
	if (r < 0)
		return r;
	*ret = take_ptr(out.data);
	return 0;
}

/* The innermost root that ABSOLUTE begins with; *ret_rest: what follows, relative. */
const struct place_root *place_root_of(const struct place *place, const char *absolute,
				       const char **ret_rest)
{
	const struct place_root *best = NULL;
	size_t best_len = 0;

	for (size_t i = 0; i < place->len; i++) {
		const struct place_root *root = &place->roots[i];
		size_t len = strlen(root->path);

		if (root->fd < 0 || !path_covers(root->path, absolute) || (best && len <= best_len))
			continue;
		best = root;
		best_len = len;
	}
	if (!best)
		return NULL;
	*ret_rest = absolute + best_len;
	*ret_rest += strspn(*ret_rest, "/");
	if (!**ret_rest)
		*ret_rest = ".";
	return best;
}

/* A link that is absolute, or leads from one root into another: see where it ends, then
 * open that without following any. */
static int open_across(const struct place *place, const char *absolute, int flags)
{
	_cleanup_(fd_closep) int seen = path_open_anywhere(AT_FDCWD, absolute, O_PATH);
	_cleanup_(freep) char *real = NULL;
	const struct place_root *root;
	const char *rest;
	int r = seen < 0 ? seen : path_of_fd(seen, &real);

	if (r < 0)
		return r == -ENOENT ? -EXDEV : r;
	root = place_root_of(place, real, &rest);
	return root && root->is_dir ? path_open_nolink(root->fd, rest, flags, 0) : -EXDEV;
}

int place_open_at(const struct place *place, const char *absolute, int flags)
{
	const struct place_root *root;
	const char *rest;
	int fd;

	root = place_root_of(place, absolute, &rest);
	if (!root)
		return -EXDEV;
	if (!root->is_dir)
		return str_eq(rest, ".") ? fcntl(root->fd, F_DUPFD_CLOEXEC, 3) : -ENOTDIR;
	fd = path_open_beneath(root->fd, rest, flags, 0);
	return fd == -EXDEV ? open_across(place, absolute, flags) : fd;
}

int place_fill(const struct place *place, struct target *target)
{
	const char *rest;
	int r = path_of_fd(target->fd, &target->path);

	if (r == 0 && fstat(target->fd, &target->st) < 0)
		r = -errno;
	if (r == 0)
		target->root = place_root_of(place, target->path, &rest);
	return r;
}

int place_check_name(const char *path, struct reply *reply)
{
	const char *fault = file_path_fault(path);

	return fault ? reply_fail(reply, FILE_BAD_PATH, "that path cannot be: %s", fault) : 0;
}

int place_find(const struct place *place, const char *path, struct target *ret, struct reply *reply)
{
	_cleanup_(freep) char *absolute = NULL;
	int r;

	if (place_check_name(path, reply) != 0)
		return 1;
	r = place_absolute(place, path, &absolute);
	if (r == 0) {
		ret->fd = place_open_at(place, absolute, O_PATH);
		r = ret->fd < 0 ? ret->fd : place_fill(place, ret);
	}
	return r < 0 ? place_fail(reply, path, r) : 0;
}

int place_find_file(const struct place *place, const char *path, struct target *ret,
		    struct reply *reply)
{
	if (place_find(place, path, ret, reply) != 0)
		return 1;
	if (S_ISREG(ret->st.st_mode))
		return 0;
	return reply_fail(reply, FILE_NOT_REGULAR, "%.800s is %s, not a file", path,
			  place_type(ret->st.st_mode));
}

enum { LINK_SIZE = sizeof("/proc/self/fd/") + 3 * sizeof(int) };

static const char *link_of(int fd, char link[LINK_SIZE])
{
	snprintf(link, LINK_SIZE, "/proc/self/fd/%d", fd);
	return link;
}

/* What access(2) looks at are the permissions alone: Landlock has no say there. */
int place_refusal(int fd, int r)
{
	char link[LINK_SIZE];

	if (r != -EACCES)
		return r;
	return access(link_of(fd, link), W_OK) < 0 && errno == EACCES ? -EACCES : -EROFS;
}

int place_reopen(int fd, int flags)
{
	char link[LINK_SIZE];
	int again = fd_open(link_of(fd, link), flags | O_NONBLOCK | O_NOCTTY);
	return again < 0 ? -errno : again;
}
