/* SPDX-License-Identifier: MIT */
/*
 * spawn - start a program with just the descriptors that it is to have.
 *
 * posix_spawn(3): the caller's memory is shared until the exec, whatever its size.
 */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct spawn {
	const char *program; /* a path: nothing is searched */
	char *const *argv;
	char *const *env; /* NULL: ours */
	const char *cwd;  /* NULL: ours */
	/* fds[i] becomes descriptor i; none may be one of those numbers itself, see fd_lift().
	 * Below 0: /dev/null for 0 to 2, not passed for others. */
	const int *fds;
	size_t fds_len;
	bool own_group;
	const sigset_t *mask;     /* NULL: no signal is blocked */
	const sigset_t *defaults; /* signals not to be ignored any more; NULL: none */
};

int spawn_start(const struct spawn *spawn, pid_t *ret_pid); /* 0 or -errno */
/* *FD becomes a copy at FLOOR or above, unless it is. */
int fd_lift(int *fd, int floor);
