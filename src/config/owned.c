/* SPDX-License-Identifier: MIT */
#include "config/owned.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>

/* With a private group for each user (uid = gid) a umask of 002 is common. */
static bool group_is_private(const struct stat *st, uid_t uid, gid_t gid)
{
	return st->st_gid == gid && st->st_gid == uid && st->st_uid == uid;
}

/* With a list, the mode's bits for the group are the most that anybody in it has. */
static bool has_list(int fd)
{
	static const char name[] = "system.posix_acl_access";
	char path[32];

	if (fgetxattr(fd, name, NULL, 0) >= 0)
		return true;
	if (errno == EBADF) { /* O_PATH */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (getxattr(path, name, NULL, 0) >= 0)
			return true;
	}
	return errno != ENODATA && errno != ENOTSUP;
}

bool owned_is_open(int fd, const struct stat *st, uid_t uid, gid_t gid)
{
	if (st->st_mode & S_IWOTH)
		return true;
	return (st->st_mode & S_IWGRP) && (!group_is_private(st, uid, gid) || has_list(fd));
}
