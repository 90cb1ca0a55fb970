/* SPDX-License-Identifier: MIT */
#include "warden/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"

/* The children of PID as the kernel lists them, in a bounded buffer: what does
 * not fit is met in the next round. */
static size_t list_children(pid_t pid, char *buf, size_t size)
{
	char path[64];
	_cleanup_(fd_closep) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, buf, size - 1);
	if (n <= 0)
		return 0;
	if ((size_t)n == size - 1)
		while (n > 0 && buf[n - 1] != ' ')
			n--; /* the last number may be cut */
	buf[n] = '\0';
	return (size_t)n;
}

static int signal_below(pid_t pid, int sig, unsigned depth)
{
	char buf[1024];
	int count = 0;
	char *next = buf;

	if (depth > 64 || !list_children(pid, buf, sizeof(buf)))
		return 0;
	for (;;) {
		char *end;
		long child = strtol(next, &end, 10);

		if (end == next || child <= 0)
			return count;
		count += 1 + signal_below((pid_t)child, sig, depth + 1);
		(void)kill((pid_t)child, sig);
		next = end;
	}
}

int tree_signal(int sig)
{
	return signal_below(getpid(), sig, 0);
}

void tree_kill(unsigned ms)
{
	uint64_t end = clock_mono_ns() + (uint64_t)ms * 1000000;
	const struct timespec pause = {.tv_nsec = 500000};

	do {
		int left = tree_signal(SIGKILL);

		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (left == 0 && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
			return;
		nanosleep(&pause, NULL);
	} while (clock_mono_ns() < end);
}
