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

enum { DEPTH_MAX = 64, REAP_MAX = 1000, SIGNAL_MS = 2000 };
/* One that was killed is gone soon, as a rule. */
enum { SHORTEST_NS = 10000, LONGEST_NS = 500000 };

struct walk {
	int sig;
	int count;
	uint64_t end_ns; /* processes may be made faster than they are met */
};

static void signal_below(struct walk *walk, pid_t pid, unsigned depth);

static void signal_child(struct walk *walk, pid_t child, unsigned depth)
{
	/* One that is killed has no more children than those that are listed next, or
	 * that come to us. Others would lose sight of theirs. */
	if (walk->sig == SIGKILL)
		(void)kill(child, SIGKILL);
	walk->count++;
	signal_below(walk, child, depth + 1);
	if (walk->sig != SIGKILL)
		(void)kill(child, walk->sig);
}

/* The children of one thread, as the kernel lists them: numbers and blanks. A
 * process that ends meanwhile stays listed until it is reaped. */
static void signal_listed(struct walk *walk, int fd, unsigned depth)
{
	char buf[4096];
	long child = 0;
	ssize_t n;

	while (clock_mono_ns() < walk->end_ns && (n = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i] >= '0' && buf[i] <= '9') {
				child = child * 10 + (buf[i] - '0');
				continue;
			}
			if (child > 0)
				signal_child(walk, (pid_t)child, depth);
			child = 0;
		}
	}
}

static void signal_below(struct walk *walk, pid_t pid, unsigned depth)
{
	char path[64];
	struct dirent *thread;
	DIR *threads;

	if (depth > DEPTH_MAX || clock_mono_ns() > walk->end_ns)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	if (!threads)
		return;
	while ((thread = readdir(threads))) {
		_cleanup_(fd_closep) int fd = -1;

		if (thread->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", pid, thread->d_name);
		fd = fd_open(path, O_RDONLY);
		if (fd >= 0)
			signal_listed(walk, fd, depth);
	}
	closedir(threads);
}

int tree_signal(int sig)
{
	struct walk walk = {.sig = sig, .end_ns = clock_mono_ns() + SIGNAL_MS * 1000000ull};

	signal_below(&walk, getpid(), 0);
	return walk.count;
}

bool tree_kill(unsigned ms, bool enclosed)
{
	uint64_t end = clock_mono_ns() + (uint64_t)ms * 1000000;
	struct timespec pause = {.tv_nsec = SHORTEST_NS};

	do {
		if (enclosed)
			(void)kill(-1, SIGKILL);
		else
			signal_below(&(struct walk){.sig = SIGKILL, .end_ns = end}, getpid(), 0);
		/* New ones may end faster than they are reaped. */
		for (int i = 0; i < REAP_MAX && waitpid(-1, NULL, WNOHANG) > 0; i++)
			;
		if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
			return true;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < LONGEST_NS)
			pause.tv_nsec *= 2;
	} while (clock_mono_ns() < end);
	return false;
}
