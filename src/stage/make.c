/* SPDX-License-Identifier: MIT */
#include "stage/make.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xattr.h"
#include "base/path.h"
#include "stage/access.h"
#include "stage/content.h"
#include "stage/node.h"
#include "stage/writers.h"

#define XATTR_ACL "system.posix_acl_access"

/* Root gives each file to whom it belongs; others can at most choose the group. */
static int give(int dirfd, const char *name, int flags, const struct node *node)
{
	if (geteuid() == 0)
		return fchownat(dirfd, name, node->uid, node->gid, flags) < 0 ? -errno : 0;
	if (node->gid != getegid() && fchownat(dirfd, name, (uid_t)-1, node->gid, flags) < 0)
		return 0;
	return 0;
}

static int set_time(int dirfd, const char *name, const struct node *node)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, node->mtime};

	return utimensat(dirfd, name, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int open_new(int dir, const char *name)
{
	int fd;

	do
		fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

static int finish_file(int fd, const struct node *node, mode_t mode)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, node->mtime};
	int r = give(fd, "", AT_EMPTY_PATH, node);

	if (r == 0 && fchmod(fd, mode) < 0)
		r = -errno;
	if (r == 0 && futimens(fd, times) < 0)
		r = -errno;
	return r;
}

static int copy_file(int from_dir, const char *from_name, const struct node *node, mode_t mode,
		     int to_dir, const char *to_name)
{
	_cleanup_(fd_closep) int from = open_staged_file(from_dir, from_name, node->ino);
	_cleanup_(fd_closep) int to = from < 0 ? from : open_new(to_dir, to_name);
	bool closed = geteuid() != 0 && !(node->mode & 0400);
	int r;

	if (to < 0)
		return to;
	r = content_copy(from, to);
	/* These are read with the permissions of the file, not of the descriptor. */
	if (r == 0 && closed && fchmod(from, node->mode | 0400) < 0)
		r = -errno;
	if (r == 0)
		r = xattr_copy_users(from, to);
	if (closed)
		fchmod(from, node->mode);
	return r < 0 ? r : finish_file(to, node, mode);
}

static int copy_dir(int from_dir, const char *from_name, const struct node *node, int to_dir,
		    const char *to_name)
{
	_cleanup_(fd_closep) int from = path_open_nolink(from_dir, from_name,
							 O_RDONLY | O_DIRECTORY, 0);
	_cleanup_(fd_closep) int to = -1;
	int r;

	if (mkdirat(to_dir, to_name, 0700) < 0)
		return -errno;
	to = path_open_nolink(to_dir, to_name, O_RDONLY | O_DIRECTORY, 0);
	if (to < 0)
		return to;
	/* One that we may not list has attributes that we may not read. */
	r = from < 0 ? 0 : xattr_copy_users(from, to);
	return r < 0 ? r : give(to, "", AT_EMPTY_PATH, node);
}

/* The store may be in a folder of somebody else's: a link there leads anywhere. */
static int chmod_fifo(int dir, const char *name, mode_t mode)
{
	_cleanup_(fd_closep) int fd = path_open_nolink(dir, name, O_PATH | O_NOFOLLOW, 0);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISFIFO(st.st_mode) ? fd_chmod(fd, mode) : -ESTALE;
}

static int copy_special(const struct node *node, mode_t mode, int to_dir, const char *to_name)
{
	int r = node->type == NODE_LINK ? symlinkat(node->target, to_dir, to_name)
					: mknodat(to_dir, to_name, S_IFIFO | 0600, 0);

	if (r < 0)
		return -errno;
	r = give(to_dir, to_name, AT_SYMLINK_NOFOLLOW, node);
	if (r == 0 && node->type == NODE_FIFO)
		r = chmod_fifo(to_dir, to_name, mode);
	return r < 0 ? r : set_time(to_dir, to_name, node);
}

int make_copy(int from_dir, const char *from_name, const struct node *node, mode_t mode, int to_dir,
	      const char *to_name)
{
	int r;

	switch (node->type) {
	case NODE_FILE:
		r = copy_file(from_dir, from_name, node, mode, to_dir, to_name);
		break;
	case NODE_DIR:
		r = copy_dir(from_dir, from_name, node, to_dir, to_name);
		break;
	case NODE_LINK:
	case NODE_FIFO:
		r = copy_special(node, mode, to_dir, to_name);
		break;
	case NODE_ABSENT:
	case NODE_SOCKET:
	case NODE_DEVICE:
	case NODE_WHITEOUT:
	default:
		return -ENOTSUP;
	}
	if (r < 0 && r != -EEXIST)
		unlinkat(to_dir, to_name, node->type == NODE_DIR ? AT_REMOVEDIR : 0);
	return r;
}

int make_needs_no_copy(int dir, const char *name, const struct node *node, mode_t mode)
{
	_cleanup_(fd_closep) int fd = -1;

	if (node->type != NODE_FILE || node->nlink != 1 || !node->is_plain || node->mode != mode)
		return 0;
	/* To be moved it must be ours, in a folder that is open to us. */
	if (geteuid() != 0 && (node->uid != geteuid() || !(mode & 0400) ||
			       faccessat(dir, "", W_OK | X_OK, AT_EACCESS | AT_EMPTY_PATH) < 0))
		return 0;
	fd = open_staged_file(dir, name, node->ino);
	/* Somebody outside may have got a descriptor while the command ran. */
	return fd < 0 ? fd : file_has_writer(fd) == 0;
}

/* A file, to be used by its name in /proc: it may not be readable. */
static int open_link(int dir, const char *name, char link[32])
{
	int fd = path_open_nolink(dir, name, O_PATH | O_NOFOLLOW, 0);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		fd_close(fd);
		return -ESTALE;
	}
	snprintf(link, 32, "/proc/self/fd/%d", fd);
	return fd;
}

int make_acl(int from_dir, const char *from_name, int to_dir, const char *to_name, mode_t mode)
{
	char from_link[32], to_link[32], acl[4096];
	_cleanup_(fd_closep) int from = open_link(from_dir, from_name, from_link);
	_cleanup_(fd_closep) int to = -1;
	ssize_t n = from < 0 ? 0 : getxattr(from_link, XATTR_ACL, acl, sizeof(acl));

	if (from < 0 || (n < 0 && (errno == ENODATA || errno == ENOTSUP)))
		return 0; /* it is another by now: told later */
	to = open_link(to_dir, to_name, to_link);
	if (to < 0)
		return to;
	if (n < 0 || setxattr(to_link, XATTR_ACL, acl, (size_t)n, 0) < 0)
		mode &= ~(mode_t)070;
	return fd_chmod(to, mode);
}

int make_text(const void *data, size_t len, const struct node *node, mode_t mode, int like,
	      int to_dir, const char *to_name)
{
	_cleanup_(fd_closep) int fd = open_new(to_dir, to_name);
	int r;

	if (fd < 0)
		return fd;
	r = fd_write_all(fd, data, len);
	if (r == 0 && like >= 0)
		r = xattr_copy_users(like, fd);
	if (r == 0)
		r = finish_file(fd, node, mode);
	if (r < 0)
		unlinkat(to_dir, to_name, 0);
	return r;
}
