/* SPDX-License-Identifier: MIT */
#include "base/path-walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

enum { DEPTH_MAX = 256, LINKS_MAX = 40 };

struct walk {
	int base; /* the caller's; fds[] are ours */
	int fds[DEPTH_MAX];
	size_t depth;
	char rest[2 * PATH_MAX];
	uint64_t resolve;
	unsigned links;
};

static int here(const struct walk *w)
{
	return w->depth ? w->fds[w->depth - 1] : w->base;
}

static void back_to_base(struct walk *w)
{
	while (w->depth)
		fd_close(w->fds[--w->depth]);
}

static int push(struct walk *w, int fd)
{
	if (w->depth == DEPTH_MAX) {
		fd_close(fd);
		return -ELOOP;
	}
	w->fds[w->depth++] = fd;
	return 0;
}

static int go_up(struct walk *w)
{
	if (w->depth) {
		fd_close(w->fds[--w->depth]);
		return 0;
	}
	if (w->resolve & RESOLVE_IN_ROOT)
		return 0;
	if (w->resolve & RESOLVE_BENEATH)
		return -EXDEV;
	return push(w, openat(w->base, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static int go_to_root(struct walk *w)
{
	int fd;

	if (w->resolve & RESOLVE_BENEATH)
		return -EXDEV;
	back_to_base(w);
	if (w->resolve & RESOLVE_IN_ROOT)
		return 0;
	fd = fd_open("/", O_PATH | O_DIRECTORY);
	return fd < 0 ? -errno : push(w, fd);
}

/* Put what the link at FD says before the rest of the way. */
static int follow(struct walk *w, int fd)
{
	char text[PATH_MAX];
	struct statfs fs;
	ssize_t n = readlinkat(fd, "", text, sizeof(text));
	size_t rest = strlen(w->rest);

	if (n < 0)
		return -errno;
	if (w->resolve & RESOLVE_NO_SYMLINKS || ++w->links > LINKS_MAX || fstatfs(fd, &fs) < 0 ||
	    fs.f_type == PROC_SUPER_MAGIC)
		return -ELOOP;
	if (n == 0)
		return -ENOENT;
	if ((size_t)n + rest + 2 > sizeof(w->rest))
		return -ENAMETOOLONG;
	memmove(w->rest + n + 1, w->rest, rest + 1);
	memcpy(w->rest, text, (size_t)n);
	w->rest[n] = '/';
	if (!rest)
		w->rest[n] = '\0'; /* a last link leads to what it names, be it no folder */
	return text[0] == '/' ? go_to_root(w) : 0;
}

/* One component that is no "..": enter it, or be led elsewhere. */
static int go_on(struct walk *w, const char *name)
{
	struct stat st;
	int r, fd = openat(here(w), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0) {
		r = -errno;
		fd_close(fd);
		return r;
	}
	if (S_ISDIR(st.st_mode))
		return push(w, fd);
	r = S_ISLNK(st.st_mode) ? follow(w, fd) : -ENOTDIR;
	fd_close(fd);
	return r;
}

/* The last component: a descriptor, -errno, or 0 when it was a link to follow. */
static int open_last(struct walk *w, const char *name, int flags, mode_t mode)
{
	int fd, r;
	struct stat st;

	if (!(flags & O_NOFOLLOW) && fstatat(here(w), name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(st.st_mode)) {
		fd = openat(here(w), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		r = follow(w, fd);
		fd_close(fd);
		return r;
	}
	fd = openat(here(w), name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
	return fd < 0 ? -errno : fd;
}

static int walk(struct walk *w, int flags, mode_t mode)
{
	char name[NAME_MAX + 1];

	for (;;) {
		size_t skip = strspn(w->rest, "/"), len = strcspn(w->rest + skip, "/"), end;
		int r;

		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, w->rest + skip, len);
		name[len] = '\0';
		end = skip + len;
		if (!w->rest[end] && len > 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
			w->rest[0] = '\0';
			r = open_last(w, name, flags, mode);
			if (r != 0)
				return r;
			continue;
		}
		if (len == 0) { /* a slash at the end, or nothing at all */
			r = openat(here(w), ".", (flags & ~(O_NOFOLLOW | O_CREAT)) | O_CLOEXEC);
			return r < 0 ? -errno : r;
		}
		memmove(w->rest, w->rest + end, strlen(w->rest + end) + 1);
		if (strcmp(name, ".") == 0)
			continue;
		r = strcmp(name, "..") == 0 ? go_up(w) : go_on(w, name);
		if (r < 0)
			return r;
	}
}

int path_walk(int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	struct walk w = {.base = dirfd, .resolve = resolve};
	int r = 0;

	if (!*path)
		return -ENOENT;
	if (strlen(path) >= sizeof(w.rest))
		return -ENAMETOOLONG;
	memcpy(w.rest, path, strlen(path) + 1);
	if (path[0] == '/')
		r = go_to_root(&w);
	if (r == 0)
		r = walk(&w, flags, mode);
	back_to_base(&w);
	return r;
}
