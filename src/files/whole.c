/* SPDX-License-Identifier: MIT */
#include "files/whole.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/xattr.h"
#include "files/request.h"

enum { TEMP_TRIES = 16 };

int whole_read(int fd, struct str *ret_text, struct whole_mark *ret_mark)
{
	_cleanup_(fd_closep) int in = place_reopen(fd, O_RDONLY);
	int r;

	if (in < 0)
		return in;
	if (fstat(in, &ret_mark->st) < 0)
		return -errno;
	r = fd_read_all(in, FILE_CONTENT_MAX, ret_text);
	if (r == 0)
		sha256_hex(str_text(ret_text), ret_text->len, ret_mark->digest);
	return r;
}

/* A new file in DIR with a name that nobody has: the descriptor, or -errno. */
static int make_temp(int dir, mode_t mode, char name[32])
{
	for (int i = 0; i < TEMP_TRIES; i++) {
		unsigned long long random;
		int fd;

		if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -errno;
		snprintf(name, 32, ".pale-%016llx", random);
		fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (fd >= 0 || errno != EEXIST)
			return fd < 0 ? -errno : fd;
	}
	return -EEXIST;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Still what was looked at, and no folder that came meanwhile. */
static int check_still(const struct target *target, const struct whole_mark *before)
{
	struct stat now;

	if (fstatat(target->parent, target_name(target), &now, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT && !before ? 0 : -ESTALE;
	return before && !is_same(&now, &before->st) ? -ESTALE : 0;
}

/* Nobody else is to be let in by bits that were meant for another owner or group. */
static int keep_owner(int fd, const struct stat *old)
{
	struct stat new;

	if (fstat(fd, &new) < 0)
		return -errno;
	if (new.st_uid == old->st_uid &&new.st_gid == old->st_gid)
		return 0;
	return new.st_uid != old->st_uid || fchown(fd, (uid_t)-1, old->st_gid) < 0 ? -EOVERFLOW : 0;
}

static int fill(int fd, const struct target *target, const void *data, size_t len)
{
	int r = fd_write_all(fd, data, len);

	if (r == 0 && target->fd >= 0)
		r = keep_owner(fd, &target->st);
	if (r == 0 && target->fd >= 0)
		r = xattr_keep(target->fd, fd);
	if (r == 0 && target->fd >= 0 && fchmod(fd, target->st.st_mode & 0777) < 0)
		r = -errno;
	return r;
}

static int write_at(int fd, off_t at, const char *data, size_t len)
{
	return lseek(fd, at, SEEK_SET) < 0 ? -errno : fd_write_all(fd, data, len);
}

/* What makes it longer goes first: on a full disk it stays what it was. */
static int write_into(const struct target *target, const struct whole_mark *before,
		      const char *data, size_t len)
{
	_cleanup_(fd_closep) int fd = place_reopen(target->fd, O_WRONLY);
	struct stat now;
	size_t old;
	int r;

	if (fd < 0)
		return place_refusal(target->fd, fd);
	if (fstat(fd, &now) < 0)
		return -errno;
	if (before && !is_same(&now, &before->st))
		return -ESTALE;
	old = (size_t)now.st_size;
	r = len > old ? write_at(fd, (off_t)old, data + old, len - old) : 0;
	if (r < 0) {
		(void)!ftruncate(fd, (off_t)old);
		return r;
	}
	r = write_at(fd, 0, data, len < old ? len : old);
	return r == 0 && len < old && ftruncate(fd, (off_t)len) < 0 ? -errno : r;
}

int whole_replace(const struct target *target, const struct whole_mark *before, const void *data,
		  size_t len)
{
	_cleanup_(fd_closep) int fd = -1;
	char temp[32];
	int r = target->fd < 0 ? 0 : place_refusal(target->fd, -EACCES);

	/* As for whoever writes into it; the folder alone would let us. */
	if (r == -EACCES)
		return r;
	if (target->parent < 0)
		return write_into(target, before, data, len);
	fd = make_temp(target->parent, target->fd >= 0 ? 0600 : 0666, temp);
	if (fd < 0)
		return place_refusal(target->parent, fd);
	r = fill(fd, target, data, len);
	if (r == 0)
		r = check_still(target, before);
	if (r == 0 && renameat(target->parent, temp, target->parent, target_name(target)) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(target->parent, temp, 0);
	return place_refusal(target->parent, r);
}
