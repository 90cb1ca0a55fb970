/* SPDX-License-Identifier: MIT */
#include "warden/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"

enum { DEPTH_MAX = 64, REAP_MAX = 1000 };

static int signal_below(pid_t pid, int sig, unsigned depth);

static int signal_child(pid_t child, int sig, unsigned depth)
{
	int count = 1 + signal_below(child, sig, depth + 1);

	(void)kill(child, sig);
	return count;
}

/* The children of one thread, as the kernel lists them: numbers and blanks. A
 * process that ends meanwhile stays listed until it is reaped. */
static int signal_listed(int fd, int sig, unsigned depth)
{
	char buf[4096];
	int count = 0;
	long child = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i] >= '0' && buf[i] <= '9') {
				child = child * 10 + (buf[i] - '0');
				continue;
			}
			if (child > 0)
				count += signal_child((pid_t)child, sig, depth);
			child = 0;
		}
	}
	return count;
}

static int signal_below(pid_t pid, int sig, unsigned depth)
{
	char path[64];
	struct dirent *thread;
	int count = 0;
	DIR *threads;

	if (depth > DEPTH_MAX)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	if (!threads)
		return 0;
	while ((thread = readdir(threads))) {
		_cleanup_(fd_closep) int fd = -1;

		if (thread->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", pid, thread->d_name);
		fd = fd_open(path, O_RDONLY);
		if (fd >= 0)
			count += signal_listed(fd, sig, depth);
	}
	closedir(threads);
	return count;
}

int tree_signal(int sig)
{
	return signal_below(getpid(), sig, 0);
}

bool tree_kill(unsigned ms)
{
	uint64_t end = clock_mono_ns() + (uint64_t)ms * 1000000;
	const struct timespec pause = {.tv_nsec = 500000};

	do {
		(void)tree_signal(SIGKILL);
		/* New ones may end faster than they are reaped. */
		for (int i = 0; i < REAP_MAX && waitpid(-1, NULL, WNOHANG) > 0; i++)
			;
		if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
			return true;
		nanosleep(&pause, NULL);
	} while (clock_mono_ns() < end);
	return false;
}
