/* SPDX-License-Identifier: MIT */
#include "engine/rebind.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "engine/namespace.h"

void rebind_open(struct rebind *rebind, pid_t child, int pidfd)
{
	rebind->userns = namespace_open(child, pidfd, NAMESPACE_USER);
	rebind->mntns = namespace_open(child, pidfd, NAMESPACE_MOUNT);
}

void rebind_close(struct rebind *rebind)
{
	rebind->userns = fd_close(rebind->userns);
	rebind->mntns = fd_close(rebind->mntns);
}

/* The mount that is there already, with its map of ids, gives the new one. */
static int cover(const char *dst)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY, .propagation = SYS_MS_PRIVATE};
	_cleanup_(fd_closep) int root = fd_open("/", O_PATH | O_DIRECTORY);
	_cleanup_(fd_closep) int target = -1;
	_cleanup_(fd_closep) int mount = -1;
	int r;

	if (root < 0)
		return -errno;
	target = path_open_nolink(root, dst + 1, O_PATH | O_NOFOLLOW, 0);
	if (target < 0)
		return target;
	mount = sys_open_tree(target, "", OPEN_TREE_CLONE | AT_EMPTY_PATH | SYS_AT_RECURSIVE);
	if (mount < 0)
		return mount;
	r = sys_mount_setattr(mount, SYS_AT_RECURSIVE, &attr);
	return r < 0 ? r : sys_move_mount(mount, target);
}

static int enter_and_cover(const struct rebind *rebind, const char *dst)
{
	if (setns(rebind->userns, CLONE_NEWUSER) < 0 || setns(rebind->mntns, CLONE_NEWNS) < 0)
		return -errno;
	return cover(dst);
}

int rebind_readonly(const struct rebind *rebind, const char *dst, struct err *err)
{
	int status, r;
	pid_t pid;

	if (rebind->userns < 0 || rebind->mntns < 0)
		return err_set(err, ERR_SYSTEM, -EBADF, "the sandbox cannot be entered");
	pid = fork();
	if (pid < 0)
		return err_sys(err, -errno, "fork");
	if (pid == 0)
		_exit(-enter_and_cover(rebind, dst) & 0xff);
	do
		r = waitpid(pid, &status, 0);
	while (r < 0 && errno == EINTR);
	if (r < 0 || !WIFEXITED(status))
		return err_set(err, ERR_SYSTEM, -ECHILD, "make %s read-only again", dst);
	return WEXITSTATUS(status)
		       ? err_sys(err, -WEXITSTATUS(status), "make %s read-only again", dst)
		       : 0;
}
