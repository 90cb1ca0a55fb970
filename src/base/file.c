/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/xattr.h"

enum { STAYS_US = 30000 };

static const char *type_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "a regular file";
	case S_IFDIR:
		return "a directory";
	case S_IFLNK:
		return "a symbolic link";
	case S_IFIFO:
		return "a fifo";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
		return "a character device";
	case S_IFBLK:
		return "a block device";
	default:
		return "of an unknown type";
	}
}

static int check_regular(const char *path, const struct stat *st, struct err *err)
{
	if (S_ISREG(st->st_mode))
		return 0;
	return err_set(err, ERR_SYSTEM, -EINVAL, "%s is %s, not a regular file", path,
		       type_name(st->st_mode));
}

int file_open_regular(int dirfd, const char *path, struct stat *ret_st, struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;
	int r;

	/* Look first: opening a device can have effects, opening a socket has
	 * a confusing error. What counts is the second look, at what we hold. */
	if (fstatat(dirfd, path, &st, 0) < 0)
		return err_sys(err, -errno, "open %s", path);
	r = check_regular(path, &st, err);
	if (r < 0)
		return r;
	fd = openat(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, -errno, "open %s", path);
	if (fstat(fd, &st) < 0)
		return err_sys(err, -errno, "stat %s", path);
	r = check_regular(path, &st, err);
	if (r < 0)
		return r;
	*ret_st = st;
	return take_fd(fd);
}

int file_read(int dirfd, const char *path, size_t max, struct str *ret_text, struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;
	int r;

	fd = file_open_regular(dirfd, path, &st, err);
	if (fd < 0)
		return fd;
	/* The size in ST is a hint only: in /proc it is 0, and files grow. */
	r = (uint64_t)st.st_size > max ? -EFBIG : fd_read_all(fd, max, ret_text);
	if (r == -EFBIG)
		return err_set(err, ERR_SYSTEM, r, "%s is larger than %zu bytes", path, max);
	if (r < 0)
		return err_sys(err, r, "read %s", path);
	return 0;
}

/* A file on its way to replace another; unlinked unless `name` is empty. */
struct temp {
	int dirfd;
	int fd;
	char name[NAME_MAX + 1];
};

static void temp_release(struct temp *temp)
{
	temp->fd = fd_close(temp->fd);
	if (temp->name[0])
		unlinkat(temp->dirfd, temp->name, 0);
}

/* ".NAME.0123456789abcdef", with NAME cut at a character where it must be. */
static int temp_name(const char *name, char ret_name[NAME_MAX + 1])
{
	int stem = (int)strnlen(name, NAME_MAX - 18);
	uint64_t random;
	ssize_t n;

	do
		n = getrandom(&random, sizeof(random), 0);
	while (n < 0 && errno == EINTR);
	if (n != sizeof(random))
		return n < 0 ? -errno : -EIO;
	while (name[stem] && ((unsigned char)name[stem] & 0xc0) == 0x80 && stem > 0)
		stem--;
	snprintf(ret_name, NAME_MAX + 1, ".%.*s.%016llx", stem, name, (unsigned long long)random);
	return 0;
}

static int temp_open(struct temp *temp, const char *name)
{
	char candidate[NAME_MAX + 1];

	for (int tries = 0; tries < 16; tries++) {
		int r = temp_name(name, candidate);

		if (r < 0)
			return r;
		temp->fd = openat(temp->dirfd, candidate,
				  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (temp->fd >= 0) {
			memcpy(temp->name, candidate, sizeof(candidate));
			return 0;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Owner first, since chown clears the set-id bits; and these must not stay
 * where the owner or group that they speak for could not be kept. */
static int copy_owner_and_mode(int fd, const struct stat *old, mode_t mode)
{
	if (old) {
		bool owner = fchown(fd, old->st_uid, old->st_gid) == 0;
		bool group = owner || fchown(fd, (uid_t)-1, old->st_gid) == 0;

		mode = old->st_mode & (owner ? 07777 : group ? 03777 : 01777);
	}
	return fchmod(fd, mode & 07777) < 0 ? -errno : 0;
}

/* What stands at NAME now: a regular file, by O_PATH in *ret_fd; or nothing, which it says not. */
static int look_at_old(int dirfd, const char *name, int *ret_fd, struct stat *ret_st,
		       struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	int r;

	if (!name[0] || strchr(name, '/') || str_eq(name, ".") || str_eq(name, ".."))
		return err_set(err, ERR_SYSTEM, -EINVAL, "\"%s\" is not a file name", name);
	fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, ret_st) < 0)
		return err_sys(err, -errno, "replace %s", name);
	if (S_ISLNK(ret_st->st_mode))
		return err_set(err, ERR_SYSTEM, -ELOOP, "%s is a symbolic link", name);
	r = check_regular(name, ret_st, err);
	if (r == 0)
		*ret_fd = take_fd(fd);
	return r;
}

int file_stays(int dirfd, const char *name, struct err *err)
{
	struct stat st;

	usleep(STAYS_US);
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	err_set(err, ERR_SYSTEM, -EBUSY,
		"%s was taken away at once: a command runs here that must not get one", name);
	return err_hint(err, -EBUSY,
			"again when it has ended: pale runs --outcome running, pale session list");
}

int file_replace(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
		 struct err *err)
{
	_cleanup_(temp_release) struct temp temp = {.dirfd = dirfd, .fd = -1};
	_cleanup_(fd_closep) int dir = -1, old = -1;
	struct stat st;
	int r;

	r = look_at_old(dirfd, name, &old, &st, err);
	if (r < 0)
		return r;
	/* DIRFD may be O_PATH or AT_FDCWD, neither of which can be synced. */
	dir = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = dir < 0 ? -errno : temp_open(&temp, name);
	if (r == 0)
		r = fd_write_all(temp.fd, data, len);
	if (r == 0 && old >= 0)
		r = xattr_keep(old, temp.fd);
	if (r == 0)
		r = copy_owner_and_mode(temp.fd, old >= 0 ? &st : NULL, mode);
	if (r == 0 && fsync(temp.fd) < 0)
		r = -errno;
	/* Who guards the name takes a writer that it still has for an attack. */
	temp.fd = fd_close(temp.fd);
	if (r == 0 && renameat(dirfd, temp.name, dirfd, name) < 0)
		r = -errno;
	if (r == -EOVERFLOW)
		return err_set(err, ERR_SYSTEM, r,
			       "replace %s: its access list names somebody who has no id here",
			       name);
	if (r < 0)
		return err_sys(err, r, "replace %s", name);
	temp.name[0] = '\0';
	/* Some file systems cannot sync a directory, and say EINVAL. */
	if (fsync(dir) < 0 && errno != EINVAL)
		return err_sys(err, -errno, "%s is replaced, but sync its directory", name);
	return 0;
}
