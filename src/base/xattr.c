/* SPDX-License-Identifier: MIT */
#include "base/xattr.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/cleanup.h"
#include "base/str.h"

#define ACL "system.posix_acl_access"
enum { ROOM = 65536 }; /* the kernel's own limit, of a value and of all names */

static bool is_users(const char *name)
{
	return str_starts(name, "user.") && !str_starts(name, "user.overlay.");
}

/* As flistxattr(), of O_PATH as well. */
static ssize_t list(int fd, char *names, size_t room)
{
	ssize_t n = flistxattr(fd, names, room);
	char link[32];

	if (n >= 0 || errno != EBADF)
		return n;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return listxattr(link, names, room);
}

static ssize_t get(int fd, const char *name, void *value, size_t room)
{
	ssize_t n = fgetxattr(fd, name, value, room);
	char link[32];

	if (n >= 0 || errno != EBADF)
		return n;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return getxattr(link, name, value, room);
}

/* All names, each with its NUL; 0: none. */
static ssize_t list_all(int fd, char **ret)
{
	ssize_t n = list(fd, NULL, 0);

	if (n <= 0)
		return n < 0 && errno != ENOTSUP ? -errno : 0;
	*ret = malloc(ROOM);
	if (!*ret)
		return -ENOMEM;
	n = list(fd, *ret, ROOM);
	return n < 0 ? -errno : n;
}

int xattr_copy_users(int from, int to)
{
	_cleanup_(freep) char *names = NULL, *value = NULL;
	ssize_t n = list_all(from, &names);

	if (n <= 0)
		return (int)n;
	for (const char *name = names; name < names + n; name += strlen(name) + 1) {
		ssize_t len;

		if (!is_users(name))
			continue;
		if (!value)
			value = malloc(ROOM);
		if (!value)
			return -ENOMEM;
		len = get(from, name, value, ROOM);
		if (len < 0 && errno == ENODATA)
			continue;
		if (len < 0)
			return -errno;
		if (fsetxattr(to, name, value, (size_t)len, 0) < 0 && errno != ENOTSUP)
			return -errno;
	}
	return 0;
}

/* Who has no id here is nobody in what is read, and nobody cannot be written. But the folder's list
 * for new files, which made FROM's as a rule, has made the same of TO, once the mode is the same. */
static bool inherited(int from, int to, const char *acl, size_t len)
{
	_cleanup_(freep) char *value = malloc(ROOM);
	struct stat st;

	return value && fstat(from, &st) == 0 && fchmod(to, st.st_mode & 0777) == 0 &&
	       get(to, ACL, value, ROOM) == (ssize_t)len && memcmp(value, acl, len) == 0;
}

static int copy_acl(int from, int to)
{
	_cleanup_(freep) char *value = NULL;
	ssize_t n = get(from, ACL, NULL, 0);

	if (n < 0 && errno != ENODATA && errno != ENOTSUP)
		return -errno;
	if (n < 0)
		return fremovexattr(to, ACL) == 0 || errno == ENODATA || errno == ENOTSUP ? 0
											  : -errno;
	value = malloc(ROOM);
	if (!value)
		return -ENOMEM;
	n = get(from, ACL, value, ROOM);
	if (n >= 0 && fsetxattr(to, ACL, value, (size_t)n, 0) == 0)
		return 0;
	if (n < 0 || errno != EINVAL)
		return -errno;
	return inherited(from, to, value, (size_t)n) ? 0 : -EOVERFLOW;
}

int xattr_keep(int from, int to)
{
	int r = xattr_copy_users(from, to);

	return r < 0 ? r : copy_acl(from, to);
}

int xattr_has_privileged(int fd)
{
	_cleanup_(freep) char *names = NULL;
	ssize_t n = list_all(fd, &names);

	for (const char *name = names; n > 0 && name < names + n; name += strlen(name) + 1)
		if (str_eq(name, "security.capability") || str_starts(name, "trusted."))
			return 1;
	return n < 0 ? (int)n : 0;
}
