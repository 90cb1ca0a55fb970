/* SPDX-License-Identifier: MIT */
#include "warden/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/sys.h"
#include "warden/launch.h"
#include "warden/protocol.h"
#include "warden/pty.h"
#include "warden/tree.h"
#include "warden/warden.h"

enum { END_MS = 2000 };

/* What comes first through the pipe. */
struct start {
	pid_t leader; /* 0: it failed */
	struct err err;
};

struct holder_word holder_word_of(int status, const struct rusage *usage)
{
	return (struct holder_word){
		.status = status,
		.cpu_ms = (unsigned)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000 +
			  (unsigned)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1000,
		.memory = (unsigned long long)usage->ru_maxrss * 1024,
		.written = (unsigned long long)usage->ru_oublock * 512,
	};
}

static int open_terminal(const struct warden_job *job, uint32_t id, const struct pty *pty,
			 int *ret_terminal, struct err *err)
{
	int r;

	if (setsid() < 0)
		return err_sys(err, -errno, "start a session");
	r = pty_open(pty, job->channel, id, ret_terminal, err);
	if (r == 0 && ioctl(*ret_terminal, TIOCSCTTY, 0) < 0)
		r = err_sys(err, -errno, "take the terminal");
	return r;
}

/* Limits count from us on: our report is the first. */
static int take_place(const struct warden_job *job, const struct launch *command,
		      const struct pty *pty, int *ret_terminal, struct err *err)
{
	struct warden_report starting = {.kind = WARDEN_STARTING, .id = command->id};
	int r;

	if (!job->owns_pidns && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(err, -errno, "die with the parent");
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_sys(err, -errno, "become a subreaper");
	r = warden_send_report(job->channel, &starting);
	if (r < 0)
		return err_sys(err, r, "report to the supervisor");
	return pty ? open_terminal(job, command->id, pty, ret_terminal, err) : 0;
}

/* By order: with all that it started. */
static void end_rest(void)
{
	sigset_t pending;

	if (sigpending(&pending) == 0 && sigismember(&pending, HOLDER_END) == 1)
		(void)tree_kill(END_MS, false);
}

/* Until it has ended: tell of stops, which the kernel does only while they last, to who has the
 * other end of its terminal. Without one they concern nobody. */
static struct holder_word look_after(const struct warden_job *job, uint32_t id, pid_t leader,
				     bool has_terminal)
{
	struct warden_report stopped = {.kind = WARDEN_STOPPED, .id = id};
	struct rusage usage;
	int status;

	for (;;) {
		pid_t pid = wait4(-1, &status, WUNTRACED, &usage);

		if (pid < 0 && errno != EINTR)
			_exit(1);
		if (pid == leader && !WIFSTOPPED(status)) {
			end_rest();
			(void)getrusage(RUSAGE_CHILDREN, &usage);
			return holder_word_of(status, &usage);
		}
		if (pid != leader || !has_terminal)
			continue;
		stopped.status = status;
		(void)warden_send_report(job->channel, &stopped);
	}
}

_Noreturn static void hold(const struct warden_job *job, const struct launch *command,
			   const struct pty *pty, int pipe)
{
	struct launch own = *command;
	struct start start = {0};
	struct holder_word word;

	if (take_place(job, command, pty, &own.terminal, &start.err) == 0) {
		pid_t leader = launch_command(job, &own, &start.err);

		start.leader = leader > 0 ? leader : 0;
	}
	/* Its streams are its own. */
	sys_close_range(0, 2, 0);
	for (int i = 0; i < 3; i++)
		fd_close(command->fds[i]);
	fd_close(command->notes);
	if (fd_write_all(pipe, &start, sizeof(start)) < 0 || start.leader == 0)
		_exit(1);
	word = look_after(job, command->id, start.leader, pty != NULL);
	_exit(fd_write_all(pipe, &word, sizeof(word)) < 0);
}

pid_t holder_start(const struct warden_job *job, const struct launch *command,
		   const struct pty *pty, pid_t *ret_leader, int *ret_pipe, struct err *err)
{
	struct start start = {0};
	int pair[2], pidfd;
	ssize_t n;
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, -errno, "make a pipe");
	pid = sys_fork(&pidfd);
	if (pid == 0) {
		fd_close(pair[0]);
		hold(job, command, pty, pair[1]);
	}
	fd_close(pair[1]);
	if (pid < 0) {
		fd_close(pair[0]);
		return err_sys(err, pid, "start a process for the command");
	}
	fd_close(pidfd);
	do
		n = read(pair[0], &start, sizeof(start));
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(start) && start.leader > 0) {
		*ret_leader = start.leader;
		*ret_pipe = pair[0];
		return pid;
	}
	fd_close(pair[0]);
	waitpid(pid, NULL, 0);
	if (n != (ssize_t)sizeof(start))
		return err_set(err, ERR_SYSTEM, -EPIPE, "the command's process ended early");
	*err = start.err;
	return err->errnum ? -err->errnum : -EPIPE;
}
