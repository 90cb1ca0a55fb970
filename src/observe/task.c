/* SPDX-License-Identifier: MIT */
#include "observe/task.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"

enum { SMALLEST_PAGE = 4096, ALARM_US = 2000 };

/* Whoever has a file of the task's in hand for a moment may be the last to have it, if the task
 * closes it just then; and the end of a socket that lingers waits. An alarm interrupts that. */
struct alarms {
	struct sigaction action;
	sigset_t mask;
};

static void on_alarm(int sig)
{
	(void)sig;
}

static void alarms_begin(struct alarms *ret_old)
{
	const struct itimerval soon = {{0, ALARM_US}, {0, ALARM_US}};
	const struct sigaction interrupt = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGALRM);
	(void)sigaction(SIGALRM, &interrupt, &ret_old->action);
	(void)sigprocmask(SIG_UNBLOCK, &mask, &ret_old->mask);
	(void)setitimer(ITIMER_REAL, &soon, NULL);
}

static void alarms_end(const struct alarms *old)
{
	const struct itimerval never = {0};

	(void)setitimer(ITIMER_REAL, &never, NULL);
	(void)sigprocmask(SIG_SETMASK, &old->mask, NULL);
	(void)sigaction(SIGALRM, &old->action, NULL);
}

ssize_t task_read(pid_t pid, uint64_t address, void *buf, size_t size)
{
	/* What does not fit in this page is a part of its own: it may be missing. */
	size_t first = SMALLEST_PAGE - address % SMALLEST_PAGE;
	struct iovec local = {buf, size}, remote[2] = {{(void *)(uintptr_t)address, size}};
	ssize_t n;

	if (first < size) {
		remote[0].iov_len = first;
		remote[1] = (struct iovec){(void *)(uintptr_t)(address + first), size - first};
	}
	n = process_vm_readv(pid, &local, 1, remote, first < size ? 2 : 1, 0);
	return n < 0 ? -errno : n;
}

int task_read_name(pid_t pid, uint64_t address, char ret[PATH_MAX])
{
	size_t first = SMALLEST_PAGE - address % SMALLEST_PAGE;
	size_t chunk = first < 256 ? first + 256 : 256; /* most names are short */
	ssize_t n = task_read(pid, address, ret, chunk);
	char *end = n > 0 ? memchr(ret, '\0', (size_t)n) : NULL;

	if (n > 0 && !end) {
		n = task_read(pid, address, ret, PATH_MAX);
		end = n > 0 ? memchr(ret, '\0', (size_t)n) : NULL;
	}
	if (n < 0)
		return (int)n;
	return end ? (int)(end - ret) : -ENAMETOOLONG;
}

/* Takes off the last component of OUT, which has LEN bytes. */
static size_t shorten(const char *out, size_t len)
{
	while (len > 0 && out[len - 1] != '/')
		len--;
	return len > 0 ? len - 1 : 0;
}

int task_join(const char *base, const char *name, char ret[PATH_MAX])
{
	const char *const parts[] = {name[0] == '/' ? "" : base, name};
	size_t len = 0;

	for (size_t i = 0; i < 2; i++)
		for (const char *at = parts[i]; *at;) {
			size_t n;

			at += strspn(at, "/");
			n = strcspn(at, "/");
			if (n == 2 && at[0] == '.' && at[1] == '.') {
				len = shorten(ret, len);
			} else if (n > 0 && !(n == 1 && at[0] == '.')) {
				if (len + n + 2 > PATH_MAX)
					return -ENAMETOOLONG;
				ret[len++] = '/';
				memcpy(ret + len, at, n);
				len += n;
			}
			at += n;
		}
	if (len == 0)
		ret[len++] = '/';
	ret[len] = '\0';
	return 0;
}

int task_resolve(pid_t pid, int dir, const char *name, char ret[PATH_MAX])
{
	char link[64], base[PATH_MAX];
	struct alarms alarms;
	ssize_t n;

	if (name[0] == '/')
		return task_join("/", name, ret);
	if (dir == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
	else
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, dir);
	/* As the task sees it: the kernel names what lies in other mounts from their root. */
	if (dir != AT_FDCWD)
		alarms_begin(&alarms);
	n = readlink(link, base, sizeof(base) - 1);
	if (n < 0)
		n = -errno;
	if (dir != AT_FDCWD)
		alarms_end(&alarms);
	if (n < 0)
		return (int)n;
	base[n] = '\0';
	return base[0] == '/' ? task_join(base, name, ret) : -ENOENT;
}

/* "KEY:\tVALUE" of /proc/PID/status; BASE as in strtoull(3). 0 when it is not there. */
static uint64_t status_number(const char *status, const char *key, int base)
{
	const char *at = strstr(status, key);

	return at ? strtoull(at + strlen(key), NULL, base) : 0;
}

static bool read_status(pid_t pid, char *ret, size_t size)
{
	char path[64];
	_cleanup_(fd_closep) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	fd = fd_open(path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, ret, size - 1);
	if (n <= 0)
		return false;
	ret[n] = '\0';
	return true;
}

/* PID may be a thread's, which only a newer kernel gives a descriptor for. */
static int open_task(pid_t pid)
{
	char status[4096];
	int fd = sys_pidfd_open(pid, 0);

	if (fd == -EINVAL || fd == -ENOENT)
		fd = sys_pidfd_open(pid, SYS_PIDFD_THREAD);
	if (fd == -EINVAL && read_status(pid, status, sizeof(status)))
		fd = sys_pidfd_open((int)status_number(status, "\nTgid:", 10), 0);
	return fd;
}

int task_take_fd(pid_t pid, int fd)
{
	_cleanup_(fd_closep) int task = open_task(pid);
	struct alarms alarms;
	int r;

	if (task < 0)
		return task;
	alarms_begin(&alarms);
	r = sys_pidfd_getfd(task, fd);
	alarms_end(&alarms);
	return r;
}

int task_return_fd(int fd)
{
	struct alarms alarms;

	if (fd < 0)
		return -1;
	alarms_begin(&alarms);
	fd_close(fd);
	alarms_end(&alarms);
	return -1;
}

void task_program(pid_t pid, char ret[TASK_PROGRAM_MAX])
{
	static const char deleted[] = " (deleted)";
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	if (n > (ssize_t)sizeof(deleted) && strcmp(path + n - (sizeof(deleted) - 1), deleted) == 0)
		path[n - (ssize_t)(sizeof(deleted) - 1)] = '\0';
	snprintf(ret, TASK_PROGRAM_MAX, "%s", n > 0 ? path_basename(path) : "");
}

/* Those that stop a task do so without a handler. */
static uint64_t bit(int sig)
{
	return 1ull << (sig - 1);
}

bool task_has_signal(pid_t pid)
{
	const uint64_t stops = bit(SIGSTOP) | bit(SIGTSTP) | bit(SIGTTIN) | bit(SIGTTOU);
	char status[4096];
	uint64_t pending, seen;
	bool alone;

	if (!read_status(pid, status, sizeof(status)))
		return false;
	/* What is for the whole process wakes its first thread, if that has not blocked it. */
	alone = status_number(status, "\nTgid:", 10) == (uint64_t)pid ||
		status_number(status, "\nThreads:", 10) == 1;
	seen = status_number(status, "\nSigCgt:", 16) | stops;
	pending = status_number(status, "\nSigPnd:", 16);
	if (alone)
		pending |= status_number(status, "\nShdPnd:", 16);
	return pending & seen & ~status_number(status, "\nSigBlk:", 16) &
	       ~status_number(status, "\nSigIgn:", 16);
}
