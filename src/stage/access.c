/* SPDX-License-Identifier: MIT */
#include "stage/access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/sys.h"

enum { SYS_FCHMODAT2 = 452 };

int fd_chmod(int fd, mode_t mode)
{
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(fd)];
	int r = sys_result(syscall(SYS_FCHMODAT2, fd, "", mode, AT_EMPTY_PATH));

	if (r != -ENOSYS && r != -EINVAL && r != -EPERM)
		return r;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return chmod(link, mode) < 0 ? -errno : 0;
}

int open_parent(int dirfd, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	_cleanup_(freep) char *parent = NULL;
	int fd;

	if (!*path)
		return -EINVAL;
	if (!slash) {
		fd = path_open_nolink(dirfd, ".", O_PATH | O_DIRECTORY, 0);
	} else {
		parent = strndup(path, (size_t)(slash - path));
		if (!parent)
			return -ENOMEM;
		fd = path_open_nolink(dirfd, parent, O_PATH | O_DIRECTORY, 0);
	}
	if (fd >= 0)
		*ret_name = slash ? slash + 1 : path;
	return fd;
}

void folder_release(struct folder *folder)
{
	if (folder->path)
		fd_close(folder->fd);
	free(folder->path);
	*folder = (struct folder){0};
}

bool is_absent(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -ELOOP;
}

static bool folder_is_of(const struct folder *folder, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;

	return folder->path && strncmp(folder->path, path, len) == 0 && !folder->path[len];
}

/* FD is the folder that holds PATH, or -errno: it is the folder's now. */
static int folder_keep(struct folder *folder, const char *path, int fd)
{
	const char *slash = strrchr(path, '/');

	folder_release(folder);
	if (fd < 0 && !is_absent(fd))
		return fd;
	folder->path = strndup(path, slash ? (size_t)(slash - path) : 0);
	if (!folder->path) {
		fd_close(fd);
		return -ENOMEM;
	}
	folder->fd = fd;
	return fd;
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int folder_parent(struct folder *folder, int dirfd, const char *path, const char **ret_name)
{
	*ret_name = name_of(path);
	if (*path && folder_is_of(folder, path))
		return folder->fd;
	return folder_keep(folder, path, open_parent(dirfd, path, ret_name));
}

static int remember(struct relaxed *relaxed, const char *path, const struct stat *st)
{
	struct relaxed_item *grown = reallocarray(relaxed->items, relaxed->n + 1,
						  sizeof(*relaxed->items));

	if (!grown)
		return -ENOMEM;
	relaxed->items = grown;
	grown[relaxed->n] = (struct relaxed_item){
		.path = strdup(path), .ino = st->st_ino, .mode = st->st_mode & 07777};
	if (!grown[relaxed->n].path)
		return -ENOMEM;
	relaxed->n++;
	return 0;
}

/* The owner's permissions on the folder PATH, if it is ours and lacks some. */
static int relax_one(struct relaxed *relaxed, int dirfd, const char *path)
{
	_cleanup_(fd_closep) int fd = path_open_nolink(dirfd, *path ? path : ".",
						       O_PATH | O_NOFOLLOW, 0);
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 0700) == 0700)
		return 0;
	r = relaxed->note ? relaxed->note(relaxed->data, relaxed->root, path, st.st_mode & 07777)
			  : 0;
	if (r == 0)
		r = remember(relaxed, path, &st);
	return r < 0 ? r : fd_chmod(fd, (st.st_mode & 07777) | 0700);
}

static int relax_path(struct relaxed *relaxed, int dirfd, const char *path)
{
	_cleanup_(freep) char *part = strdup(path);
	int r;

	if (!part)
		return -ENOMEM;
	r = relax_one(relaxed, dirfd, "");
	for (char *slash = strchr(part, '/'); slash && r == 0; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		r = relax_one(relaxed, dirfd, part);
		*slash = '/';
	}
	return r == 0 && *path ? relax_one(relaxed, dirfd, path) : r;
}

int relaxed_open(struct relaxed *relaxed, int dirfd, const char *path, int flags)
{
	const char *what = *path ? path : ".";
	int fd = path_open_nolink(dirfd, what, flags, 0), r;

	if (fd != -EACCES || geteuid() == 0)
		return fd;
	r = relax_path(relaxed, dirfd, path);
	return r < 0 ? r : path_open_nolink(dirfd, what, flags, 0);
}

static int open_relaxed(struct relaxed *relaxed, int dirfd, const char *path, int access,
			const char **ret_name)
{
	int fd = open_parent(dirfd, path, ret_name), r;
	_cleanup_(freep) char *parent = NULL;
	const char *slash = strrchr(path, '/');

	if ((fd < 0 && fd != -EACCES) || geteuid() == 0)
		return fd;
	if (fd >= 0 && faccessat(fd, "", access, AT_EACCESS | AT_EMPTY_PATH) == 0)
		return fd;
	fd_close(fd);
	parent = slash ? strndup(path, (size_t)(slash - path)) : strdup("");
	if (!parent)
		return -ENOMEM;
	r = relax_path(relaxed, dirfd, parent);
	return r < 0 ? r : open_parent(dirfd, path, ret_name);
}

static int relaxed_parent(struct relaxed *relaxed, int dirfd, const char *path, int access,
			  const char **ret_name)
{
	*ret_name = name_of(path);
	if (*path && folder_is_of(&relaxed->last, path) && relaxed->last.fd >= 0 &&
	    (access & ~relaxed->last_access) == 0)
		return relaxed->last.fd;
	relaxed->last_access = access;
	return folder_keep(&relaxed->last, path,
			   open_relaxed(relaxed, dirfd, path, access, ret_name));
}

int relaxed_search_parent(struct relaxed *relaxed, int dirfd, const char *path,
			  const char **ret_name)
{
	return relaxed_parent(relaxed, dirfd, path, X_OK, ret_name);
}

int relaxed_open_parent(struct relaxed *relaxed, int dirfd, const char *path, const char **ret_name)
{
	return relaxed_parent(relaxed, dirfd, path, W_OK | X_OK, ret_name);
}

void relaxed_restore(struct relaxed *relaxed, int dirfd)
{
	folder_release(&relaxed->last);
	while (relaxed->n > 0) {
		struct relaxed_item *item = &relaxed->items[--relaxed->n];
		const char *path = *item->path ? item->path : ".";
		_cleanup_(fd_closep) int fd = path_open_nolink(dirfd, path, O_PATH | O_NOFOLLOW, 0);
		struct stat st;

		/* A disk may answer again. */
		if (fd < 0 && !is_absent(fd))
			fd = path_open_nolink(dirfd, path, O_PATH | O_NOFOLLOW, 0);
		/* Gone or another by now: there is nothing to be given back. */
		if (fd >= 0 && (fstat(fd, &st) == 0 || fstat(fd, &st) == 0) &&
		    st.st_ino == item->ino && fd_chmod(fd, item->mode) < 0)
			fd_chmod(fd, item->mode);
		free(item->path);
	}
	free(relaxed->items);
	*relaxed = (struct relaxed){0};
}

/* The owner's right to read, for the moment of opening. */
static int open_closed(int dirfd, const char *name, mode_t mode)
{
	_cleanup_(fd_closep) int path = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(path)];
	int fd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
	if (path < 0 || fd_chmod(path, mode | 0400) < 0)
		return -EACCES;
	fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	fd_chmod(path, mode);
	return fd;
}

static int open_regular(int dirfd, const char *name, ino_t ino, bool staged)
{
	struct stat st;
	int fd;

	/* Look first: opening a device or a fifo has effects. */
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (ino && st.st_ino != ino))
		return -ESTALE;
	do
		fd = openat(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		fd = -errno;
	if (fd == -EACCES && staged && st.st_uid == geteuid())
		fd = open_closed(dirfd, name, st.st_mode & 07777);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (ino && st.st_ino != ino)) {
		fd_close(fd);
		return -ESTALE;
	}
	return fd;
}

int open_file(int dirfd, const char *name, ino_t ino)
{
	return open_regular(dirfd, name, ino, false);
}

int open_staged_file(int dirfd, const char *name, ino_t ino)
{
	return open_regular(dirfd, name, ino, true);
}

static bool is_dots(const char *name)
{
	return str_eq(name, ".") || str_eq(name, "..");
}

int dir_names(int fd, struct strv *ret)
{
	_cleanup_(freep) char *buf = malloc(32768);
	int n, r;

	if (!buf)
		return -ENOMEM;
	do {
		n = sys_getdents(fd, buf, 32768);
		if (n == -EINTR)
			continue;
		for (int at = 0; at < n;) {
			const struct sys_dirent *entry = (const struct sys_dirent *)(buf + at);

			r = is_dots(entry->name) ? 0 : strv_add(ret, entry->name);
			if (r < 0)
				return r;
			at += entry->len;
		}
	} while (n > 0 || n == -EINTR);
	/* One that was unlinked meanwhile has no entries. */
	if (n < 0 && n != -ENOENT)
		return n;
	strv_sort_unique(ret);
	return 0;
}

/* A look at the first entries will do. */
bool dir_is_empty(int fd)
{
	char buf[1024] __attribute__((aligned(8)));
	int n;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return false;
	while ((n = sys_getdents(fd, buf, sizeof(buf))) > 0 || n == -EINTR)
		for (int at = 0; at < n;) {
			const struct sys_dirent *entry = (const struct sys_dirent *)(buf + at);

			if (!is_dots(entry->name))
				return false;
			at += entry->len;
		}
	return n == 0 || n == -ENOENT;
}
