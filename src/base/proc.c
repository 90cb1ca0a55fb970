/* SPDX-License-Identifier: MIT */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/spawn.h"
#include "base/str.h"
#include "base/sys.h"

enum { FIRST_FREE_FD = STDERR_FILENO + 1 };
#define PIPE_MAX (1024 * 1024) /* as far as fs.pipe-max-size goes by default */

/* Our ends; -1 where /dev/null stands in. */
struct pipes {
	int input;  /* for the child's stdin */
	int output; /* for the child's stdout */
	int read;   /* where its output arrives */
};

static void pipes_release(struct pipes *io)
{
	io->input = fd_close(io->input);
	io->output = fd_close(io->output);
	io->read = fd_close(io->read);
}

/* A file and not a pipe: no deadlock, and no SIGPIPE from a child that does
 * not read. */
static int open_input(const char *text, int *ret_fd)
{
	_cleanup_(fd_closep) int fd = memfd_create("input", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, text, strlen(text));
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r == 0)
		r = fd_lift(&fd, FIRST_FREE_FD);
	if (r < 0)
		return r;
	*ret_fd = take_fd(fd);
	return 0;
}

static int open_output(struct pipes *io)
{
	int fds[2], r;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	io->read = fds[0];
	io->output = fds[1];
	r = fd_lift(&io->read, FIRST_FREE_FD);
	if (r == 0)
		r = fd_lift(&io->output, FIRST_FREE_FD);
	if (r == 0 && fcntl(io->read, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	return r;
}

static int start(const struct child *child, const struct pipes *io, pid_t *ret_pid)
{
	static char *const empty[] = {NULL};
	const int fds[] = {io->input, io->output, -1};
	sigset_t all;

	sigfillset(&all);
	return spawn_start(&(struct spawn){.program = child->path,
					   .argv = child->argv,
					   .env = child->envp ? child->envp : empty,
					   .cwd = child->cwd,
					   .fds = fds,
					   .fds_len = array_len(fds),
					   .own_group = true,
					   .defaults = &all},
			   ret_pid);
}

/* Take what is there, up to LIMIT bytes in OUT; the rest is dropped. Bounded by
 * the largest pipe, so that a flood cannot keep us from the clock.
 * 1: more may come, 0: the end. */
static int drain(int fd, size_t limit, struct str *out)
{
	char buf[4096];

	for (size_t taken = 0; taken < PIPE_MAX;) {
		ssize_t n = read(fd, buf, sizeof(buf));
		size_t room = limit - out->len;
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 1 : -errno;
		if (n == 0)
			return 0;
		taken += (size_t)n;
		r = str_append_bytes(out, buf, (size_t)n < room ? (size_t)n : room);
		if (r < 0)
			return r;
	}
	return 1;
}

static int remaining_ms(uint64_t deadline)
{
	uint64_t now = clock_mono_ns();

	if (deadline == 0)
		return -1;
	if (now >= deadline)
		return 0;
	deadline = (deadline - now + 999999) / 1000000;
	return deadline > 1000000 ? 1000000 : (int)deadline;
}

/* Gather output until the child behind PIDFD has ended. */
static int attend(const struct child *child, int pidfd, int fd, struct str *out)
{
	uint64_t deadline = child->timeout_ms
				    ? clock_mono_ns() + child->timeout_ms * UINT64_C(1000000)
				    : 0;
	size_t limit = 0;
	int r;

	if (out && __builtin_add_overflow(out->len, child->max_output, &limit))
		limit = SIZE_MAX;
	for (;;) {
		struct pollfd polls[] = {{.fd = pidfd, .events = POLLIN},
					 {.fd = fd, .events = POLLIN}};
		int wait_ms = remaining_ms(deadline);

		if (poll(polls, array_len(polls), wait_ms) < 0 && errno != EINTR)
			return -errno;
		if (polls[1].fd >= 0 && polls[1].revents) {
			r = drain(fd, limit, out);
			if (r < 0)
				return r;
			if (r == 0)
				fd = -1;
		}
		if (polls[0].revents)
			break;
		if (wait_ms == 0)
			return -ETIMEDOUT;
	}
	/* What it wrote last may have come after the poll. */
	r = fd >= 0 ? drain(fd, limit, out) : 0;
	return r < 0 ? r : 0;
}

static int wait_for(pid_t pid, int *ret_status)
{
	while (waitpid(pid, ret_status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static int run_started(struct child *child, pid_t pid, int fd, struct str *out)
{
	_cleanup_(fd_closep) int pidfd = (int)sys_result(syscall(SYS_pidfd_open, pid, 0));
	size_t before = out ? out->len : 0;
	int r, waited;

	r = pidfd < 0 ? pidfd : attend(child, pidfd, fd, out);
	/* Not reaped yet, so neither number can have been given away. */
	if (r < 0 || child->alone)
		kill(-pid, SIGKILL);
	waited = wait_for(pid, &child->status);
	if (r == 0)
		r = waited;
	if (r < 0 && out)
		str_truncate(out, before);
	return r;
}

int child_run(struct child *child, struct str *ret_output, struct err *err)
{
	_cleanup_(pipes_release) struct pipes io = {-1, -1, -1};
	bool wanted = ret_output && child->max_output > 0;
	pid_t pid;
	int r = 0;

	child->status = 0;
	if (child->input)
		r = open_input(child->input, &io.input);
	if (r == 0 && wanted)
		r = open_output(&io);
	if (r == 0)
		r = start(child, &io, &pid);
	if (r < 0)
		return err_sys(err, r, "run %s", child->path);
	io.output = fd_close(io.output);
	r = run_started(child, pid, io.read, wanted ? ret_output : NULL);
	if (r == -ETIMEDOUT)
		return err_set(err, ERR_SYSTEM, r, "run %s: killed after %u ms", child->path,
			       child->timeout_ms);
	if (r < 0)
		return err_sys(err, r, "run %s", child->path);
	return 0;
}
