/* SPDX-License-Identifier: MIT */
#include "stage/closed.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"

enum { EMPTY = 10, NOT_EMPTY, UNKNOWN };

static bool write_map(const char *file, const char *text)
{
	_cleanup_(fd_closep) int fd = open(file, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Power over files needs both of their ids to be known there. */
static bool become_owner(void)
{
	char uids[48], gids[48];

	snprintf(uids, sizeof(uids), "%u %u 1\n", geteuid(), geteuid());
	snprintf(gids, sizeof(gids), "%u %u 1\n", getegid(), getegid());
	return unshare(CLONE_NEWUSER) == 0 && write_map("/proc/self/setgroups", "deny") &&
	       write_map("/proc/self/gid_map", gids) && write_map("/proc/self/uid_map", uids);
}

/* In the child: nothing but calls. */
static int look(int dirfd, const char *path)
{
	char buf[4096];
	int fd = become_owner() ? path_open_nolink(dirfd, path, O_RDONLY | O_DIRECTORY, 0) : -1;
	int n = fd < 0 ? fd : sys_getdents(fd, buf, sizeof(buf));

	for (int at = 0; at < n;) {
		const struct sys_dirent *entry = (const struct sys_dirent *)(buf + at);

		if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0)
			return NOT_EMPTY;
		at += entry->len;
	}
	return n > 0 ? EMPTY : UNKNOWN;
}

int closed_is_empty(int dirfd, const char *path)
{
	_cleanup_(fd_closep) int fd = path_open_nolink(dirfd, path, O_PATH | O_DIRECTORY, 0);
	struct stat st;
	int status;
	pid_t pid;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || st.st_gid != getegid())
		return -EACCES;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(look(dirfd, path));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status) || WEXITSTATUS(status) == UNKNOWN)
		return -EACCES;
	return WEXITSTATUS(status) == EMPTY;
}
