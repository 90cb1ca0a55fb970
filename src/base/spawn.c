/* SPDX-License-Identifier: MIT */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include "base/fd.h"

int fd_lift(int *fd, int floor)
{
	int high;

	if (*fd >= floor)
		return 0;
	high = fcntl(*fd, F_DUPFD_CLOEXEC, floor);
	if (high < 0)
		return -errno;
	fd_close(*fd);
	*fd = high;
	return 0;
}

/* All of these return a positive errno, as posix_spawn() does. */
static int add_fd(posix_spawn_file_actions_t *actions, int fd, int target)
{
	if (fd >= 0)
		return posix_spawn_file_actions_adddup2(actions, fd, target);
	return target > STDERR_FILENO
		       ? 0
		       : posix_spawn_file_actions_addopen(actions, target, "/dev/null", O_RDWR, 0);
}

static int add_actions(posix_spawn_file_actions_t *actions, const struct spawn *spawn)
{
	int r = 0;

	for (size_t i = 0; i < spawn->fds_len && r == 0; i++)
		r = add_fd(actions, spawn->fds[i], (int)i);
	if (r == 0 && spawn->cwd)
		r = posix_spawn_file_actions_addchdir_np(actions, spawn->cwd);
	return r;
}

static int set_attributes(posix_spawnattr_t *attr, const struct spawn *spawn)
{
	int flags = POSIX_SPAWN_SETSIGMASK;
	sigset_t none;
	int r;

	sigemptyset(&none);
	flags |= spawn->own_group ? POSIX_SPAWN_SETPGROUP : 0;
	flags |= spawn->defaults ? POSIX_SPAWN_SETSIGDEF : 0;
	r = posix_spawnattr_setflags(attr, (short)flags);
	if (r == 0)
		r = posix_spawnattr_setsigmask(attr, spawn->mask ? spawn->mask : &none);
	if (r == 0 && spawn->own_group)
		r = posix_spawnattr_setpgroup(attr, 0);
	if (r == 0 && spawn->defaults)
		r = posix_spawnattr_setsigdefault(attr, spawn->defaults);
	return r;
}

int spawn_start(const struct spawn *spawn, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return -r;
	r = posix_spawnattr_init(&attr);
	if (r != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return -r;
	}
	r = add_actions(&actions, spawn);
	if (r == 0)
		r = set_attributes(&attr, spawn);
	if (r == 0)
		r = posix_spawn(ret_pid, spawn->program, &actions, &attr, spawn->argv,
				spawn->env ? spawn->env : environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}
