/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path-walk.h"
#include "base/str.h"
#include "base/sys.h"

#define EAGAIN_TRIES 128
#define FEW          16

/* The kernel says EAGAIN when a rename raced with a ".." it had to check. */
static int open_how(int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	bool creates = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
	struct open_how how = {
		.flags = (unsigned)flags | O_CLOEXEC,
		.mode = creates ? mode & 07777 : 0,
		.resolve = resolve | RESOLVE_NO_MAGICLINKS,
	};
	long r;

	for (int tries = 0; tries < EAGAIN_TRIES;) {
		r = sys_result(syscall(SYS_openat2, dirfd, path, &how, sizeof(how)));
		if (r == -ENOSYS)
			return path_walk(dirfd, path, flags, how.mode, how.resolve);
		if (r == -EAGAIN)
			tries++;
		else if (r != -EINTR)
			return (int)r;
	}
	return -EAGAIN;
}

static bool has_dotdot(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && path[0] == '.' && path[1] == '.')
			return true;
		path += len + strspn(path + len, "/");
	}
	return false;
}

/* In steps of whole components, each shorter than PATH_MAX. */
static int open_long(int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	_cleanup_(fd_closep) int at = -1;
	char step[PATH_MAX];

	if (has_dotdot(path))
		return -ENAMETOOLONG;
	while (strlen(path) >= PATH_MAX) {
		size_t len = PATH_MAX - 1;
		int fd;

		while (len > 0 && path[len - 1] != '/')
			len--;
		if (len == 0)
			return -ENAMETOOLONG;
		memcpy(step, path, len);
		step[len] = '\0';
		fd = open_how(at >= 0 ? at : dirfd, step, O_PATH | O_DIRECTORY, 0, resolve);
		if (fd < 0)
			return fd;
		fd_close(at);
		at = fd;
		path += len;
		path += strspn(path, "/");
	}
	return open_how(at >= 0 ? at : dirfd, *path ? path : ".", flags, mode, resolve);
}

static int open_any(int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	if (strnlen(path, PATH_MAX) == PATH_MAX)
		return open_long(dirfd, path, flags, mode, resolve);
	return open_how(dirfd, path, flags, mode, resolve);
}

int path_open_beneath(int dirfd, const char *relative, int flags, mode_t mode)
{
	return open_any(dirfd, relative, flags, mode, RESOLVE_BENEATH);
}

int path_open_nolink(int dirfd, const char *relative, int flags, mode_t mode)
{
	return open_any(dirfd, relative, flags, mode, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

int path_open_plain(const char *absolute, int flags)
{
	return open_any(AT_FDCWD, absolute, flags, 0, RESOLVE_NO_SYMLINKS);
}

int path_open_in_root(int dirfd, const char *relative, int flags, mode_t mode)
{
	return open_how(dirfd, relative, flags, mode, RESOLVE_IN_ROOT);
}

int path_open_anywhere(int dirfd, const char *relative, int flags)
{
	return open_how(dirfd, relative, flags, 0, 0);
}

/* Enter NAME, one component, and create it where it is missing. */
static int enter_dir(int dirfd, const char *name, mode_t mode)
{
	int fd = path_open_nolink(dirfd, name, O_PATH | O_DIRECTORY, 0);

	if (fd != -ENOENT)
		return fd;
	if (mkdirat(dirfd, name, mode) < 0 && errno != EEXIST)
		return -errno;
	return path_open_nolink(dirfd, name, O_PATH | O_DIRECTORY, 0);
}

int path_mkdir_beneath(int dirfd, const char *relative, mode_t mode)
{
	_cleanup_(fd_closep) int at = -1;
	char name[NAME_MAX + 1];

	if (relative[0] == '/' || has_dotdot(relative))
		return -EXDEV;
	at = path_open_nolink(dirfd, ".", O_PATH | O_DIRECTORY, 0);
	while (at >= 0 && *relative) {
		size_t len = strcspn(relative, "/");
		int fd;

		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, relative, len);
		name[len] = '\0';
		relative += len + strspn(relative + len, "/");
		if (str_eq(name, "."))
			continue;
		fd = enter_dir(at, name, mode);
		fd_close(at);
		at = fd;
	}
	return take_fd(at);
}

/* Does PATH, read from /proc, name another object than the one in ST? */
static bool is_stale(const char *path, const struct stat *st)
{
	struct stat now;

	if (st->st_nlink == 0)
		return true;
	if (!str_ends(path, " (deleted)"))
		return false;
	/* One of several names is gone, or the name really ends so. */
	return lstat(path, &now) < 0 || now.st_dev != st->st_dev || now.st_ino != st->st_ino;
}

int path_of_fd(int fd, char **ret_path)
{
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(fd)];
	_cleanup_(freep) char *path = NULL;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	for (size_t size = 256; size <= 2 * PATH_MAX; size *= 2) {
		ssize_t n;

		free(path);
		path = malloc(size);
		if (!path)
			return -ENOMEM;
		n = readlink(link, path, size);
		if (n < 0)
			return -errno;
		if ((size_t)n == size)
			continue;
		path[n] = '\0';
		if (path[0] != '/') /* "pipe:[1]", "anon_inode:…" */
			return -EINVAL;
		if (is_stale(path, &st))
			return -ENOENT;
		*ret_path = take_ptr(path);
		return 0;
	}
	return -ENAMETOOLONG;
}

/* Append the components of PATH to the normalized OUT ("" is the root). */
static int walk(struct str *out, const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");
		int r = 0;

		if (len == 2 && path[0] == '.' && path[1] == '.') {
			const char *slash = strrchr(str_text(out), '/');

			str_truncate(out, slash ? (size_t)(slash - out->data) : 0);
		} else if (len > 0 && !(len == 1 && path[0] == '.')) {
			r = str_append_char(out, '/');
			if (r == 0)
				r = str_append_bytes(out, path, len);
		}
		if (r < 0)
			return r;
		path += len + strspn(path + len, "/");
	}
	return 0;
}

int path_normalize(const char *base, const char *path, char **ret_path)
{
	_cleanup_(str_release) struct str out = {0};
	int r = 0;

	if (path[0] != '/') {
		if (!base || base[0] != '/')
			return -EINVAL;
		r = walk(&out, base);
	}
	if (r == 0)
		r = walk(&out, path);
	if (r == 0 && out.len == 0)
		r = str_append_char(&out, '/');
	if (r < 0)
		return r;
	*ret_path = take_ptr(out.data);
	return 0;
}

bool path_covers(const char *dir, const char *path)
{
	if (dir[0] == '/' && !dir[1])
		return path[0] == '/';
	while (*dir && *dir == *path)
		dir++, path++;
	return !*dir && (!*path || *path == '/');
}

/* Absolute, and written in the one way in which the kernel writes it. */
static bool is_plain(const char *path)
{
	if (path[0] != '/')
		return false;
	for (const char *at = path; *at;) {
		size_t len = strcspn(++at, "/");

		if (len == 0 || (at[0] == '.' && (len == 1 || (len == 2 && at[1] == '.'))))
			return false;
		at += len;
	}
	return true;
}

/* Without links PATH is the name, and /proc need not be asked. */
int path_open_named(const char *path, int flags, char **ret_name)
{
	_cleanup_(fd_closep) int fd = -ELOOP;
	char *name = NULL;
	int r;

	if (is_plain(path))
		fd = open_how(AT_FDCWD, path, flags, 0, RESOLVE_NO_SYMLINKS);
	if (fd >= 0) {
		name = strdup(path);
		r = name ? 0 : -ENOMEM;
	} else if (fd == -ELOOP) {
		fd = fd_open(path, flags);
		r = fd < 0 ? -errno : path_of_fd(fd, &name);
	} else {
		return fd;
	}
	if (r < 0)
		return r;
	*ret_name = name;
	return take_fd(fd);
}

static int name_of(const char *path, char **ret)
{
	_cleanup_(fd_closep) int fd = path_open_named(path, O_PATH, ret);

	return fd < 0 ? fd : 0;
}

int path_resolve(const char *path, char **ret_path)
{
	_cleanup_(freep) char *part = strdup(path);
	size_t len = part ? strlen(part) : 0;

	if (!part)
		return -ENOMEM;
	for (;;) {
		_cleanup_(freep) char *real = NULL;
		int r = name_of(len ? part : "/", &real);

		if (r == 0) {
			*ret_path = path[len] ? path_join(real, path + len) : take_ptr(real);
			return *ret_path ? 0 : -ENOMEM;
		}
		if (len == 0 || (r != -ENOENT && r != -ENOTDIR && r != -EACCES))
			return r;
		while (len > 0 && part[--len] != '/')
			;
		part[len] = '\0';
	}
}

/* A slash before every other byte: what is below a path follows it. */
static int compare_trees(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;

	for (; *x == *y && *x; x++)
		y++;
	if (*x == *y || !*x || !*y)
		return !!*x - !!*y;
	if (*x == '/' || *y == '/')
		return *x == '/' ? -1 : 1;
	return (unsigned char)*x - (unsigned char)*y;
}

void paths_fold(struct strv *paths)
{
	size_t kept = 0;

	if (paths->len == 0)
		return;
	qsort(paths->items, paths->len, sizeof(*paths->items), compare_trees);
	for (size_t i = 1; i < paths->len; i++) {
		if (path_covers(paths->items[kept], paths->items[i]))
			free(paths->items[i]);
		else
			paths->items[++kept] = paths->items[i];
	}
	paths->len = kept + 1;
	paths->items[paths->len] = NULL;
	strv_sort_unique(paths);
}

size_t path_folder_len(const char *path, size_t len)
{
	if (len <= 1)
		return 0;
	while (--len > 0 && path[len] != '/')
		;
	return len ? len : 1;
}

int path_compare_part(const char *path, size_t len, const char *other)
{
	int order = strncmp(path, other, len);

	return order ? order : -!!other[len];
}

/* A few are compared sooner than searched. */
bool paths_cover(const struct strv *folded, const char *path)
{
	if (folded->len <= FEW) {
		for (size_t i = 0; i < folded->len; i++)
			if (path_covers(folded->items[i], path))
				return true;
		return false;
	}
	for (size_t len = strlen(path); len > 0; len = path_folder_len(path, len)) {
		size_t low = 0, high = folded->len;

		while (low < high) {
			size_t middle = low + (high - low) / 2;
			int order = path_compare_part(path, len, folded->items[middle]);

			if (order == 0)
				return true;
			if (order > 0)
				low = middle + 1;
			else
				high = middle;
		}
	}
	return false;
}

char *path_join(const char *dir, const char *name)
{
	size_t len = strlen(dir), name_len;
	char *path;

	if (len == 0)
		return strdup(name);
	while (len > 0 && dir[len - 1] == '/')
		len--;
	name += strspn(name, "/");
	name_len = strlen(name);
	path = malloc(len + 1 + name_len + 1);
	if (!path)
		return NULL;
	memcpy(path, dir, len);
	path[len] = '/';
	memcpy(path + len + 1, name, name_len + 1);
	return path;
}

const char *path_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
