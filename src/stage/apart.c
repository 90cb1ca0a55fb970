/* SPDX-License-Identifier: MIT */
#include "stage/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

/* The kernel compares the mounts before it looks for the names. */
static bool on_two_mounts(int a, int b)
{
	return renameat(a, "no-such-name", b, "no-such-name") < 0 && errno == EXDEV;
}

/* Subvolumes of btrfs have numbers of their own. */
static bool on_two_devices(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev != y.st_dev;
}

/* In a folder with a policy there is nothing that has another one, or none. */
static bool encrypt_differently(int a, int b)
{
	struct fscrypt_get_policy_ex_arg policies[2];

	for (int i = 0; i < 2; i++) {
		memset(&policies[i], 0, sizeof(policies[i]));
		policies[i].policy_size = sizeof(policies[i].policy);
		if (ioctl(i ? b : a, FS_IOC_GET_ENCRYPTION_POLICY_EX, &policies[i]) < 0)
			memset(&policies[i], 0, sizeof(policies[i]));
	}
	return memcmp(&policies[0], &policies[1], sizeof(policies[0])) != 0;
}

/* What is in a folder that gives its project to what is made in it is of that project. */
static bool count_differently(int a, int b)
{
	struct fsxattr x, y;

	return ioctl(a, FS_IOC_FSGETXATTR, &x) == 0 && ioctl(b, FS_IOC_FSGETXATTR, &y) == 0 &&
	       x.fsx_projid != y.fsx_projid &&
	       ((x.fsx_xflags | y.fsx_xflags) & FS_XFLAG_PROJINHERIT);
}

bool folders_are_apart(int a, int b)
{
	_cleanup_(fd_closep) int x = -1, y = -1;

	if (on_two_mounts(a, b) || on_two_devices(a, b))
		return true;
	x = openat(a, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	y = openat(b, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return x >= 0 && y >= 0 && (encrypt_differently(x, y) || count_differently(x, y));
}
