/* SPDX-License-Identifier: MIT */
#include "warden/warden.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/quick.h"
#include "base/sys.h"
#include "confine/confine.h"
#include "confine/landlock.h"
#include "result/result.h"
#include "warden/closer.h"
#include "warden/exec.h"
#include "warden/protocol.h"
#include "warden/scratch.h"
#include "warden/step.h"
#include "warden/tree.h"

enum { END_OF_TREE_MS = 2000, REAP_MAX = 1000 };

struct launch {
	const struct warden_job *job;
	/* Written by the child in our memory. */
	int error;
	struct err *err; /* set when it failed before the program was tried */
};

/* A session of its own. With a terminal it is the warden's session, and the
 * command a job in its foreground: the kernel would not let Ctrl-Z stop a group
 * that nobody in its session looks after. Signals are blocked, or setting the
 * foreground from the background would stop us. */
static int start_session(const struct warden_job *job, struct err *err)
{
	if (job->terminal < 0)
		return setsid() < 0 ? err_sys(err, -errno, "start a session") : 0;
	if (setpgid(0, 0) < 0 || tcsetpgrp(job->terminal, getpid()) < 0)
		return err_sys(err, -errno, "bring the command to the foreground");
	return 0;
}

/* Nobody but the supervisor may hold the listener. Where none is to be had the boundary is
 * the same, and nobody looks. */
static int enter_observed(const struct warden_job *job, struct err *err)
{
	struct warden_report starting = {.kind = WARDEN_STARTING};
	unsigned variant = step_seccomp(job->observed);
	int fd = confine_seccomp_observed(variant, job->observed->flags & OP_PROFILE);
	int r;

	if (fd < 0 && fd != -EBUSY && fd != -EINVAL)
		return err_sys(err, fd, "install the observed seccomp filter");
	if (fd < 0) {
		r = confine_seccomp(variant, err);
		if (r < 0)
			return r;
		r = warden_send_report(job->channel, &starting);
	} else {
		r = warden_send_fds(job->channel, WARDEN_LISTENER, &fd, 1);
	}
	return r < 0 ? err_sys(err, r, "report to the supervisor") : 0;
}

/* What only the command's process does to itself. */
static int prepare_child(const struct warden_job *job, struct err *err)
{
	sigset_t none;
	int r = start_session(job, err);

	if (r < 0)
		return r;
	if (!job->owns_pidns && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(err, -errno, "die with the parent");
	if (job->landlock) {
		r = landlock_enter(job->landlock, err);
		if (r < 0)
			return r;
	}
	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return err_sys(err, -errno, "unblock signals");
	return job->observed ? enter_observed(job, err) : 0;
}

/* Runs on a stack of its own in the warden's memory, while the warden waits. */
static int launch_child(void *data)
{
	struct launch *launch = data;

	launch->error = prepare_child(launch->job, launch->err);
	if (launch->error == 0) {
		launch->error = exec_program(launch->job->argv, launch->job->env);
		exec_error(launch->error, launch->job->argv[0], launch->err);
	}
	_exit(1);
}

/* The caller's environment is of no use to a tool, and none of the sandbox's business. */
static void forget_environment(void)
{
	for (char **variable = environ; variable && *variable; variable++)
		explicit_bzero(*variable, strlen(*variable));
	environ = NULL;
}

_Noreturn static void tool_child(const struct warden_job *job, int failure)
{
	struct err err = {0};

	if (prepare_child(job, &err) < 0) {
		(void)fd_write_all(failure, &err, sizeof(err));
		_exit(1);
	}
	if (sys_close_range(STDERR_FILENO + 1, ~0U, 0) < 0)
		_exit(EXIT_NOT_RUN);
	forget_environment();
	_exit(job->tool(job->argv));
}

/* It runs for long and allocates: in memory of its own. What the warden holds, a tool
 * holds as well, until it is confined. */
static pid_t launch_tool(const struct warden_job *job, struct err *err)
{
	struct err failed;
	int pair[2], pidfd;
	ssize_t n;
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, -errno, "make a pipe");
	pid = sys_fork(&pidfd);
	if (pid == 0)
		tool_child(job, pair[1]);
	fd_close(pair[1]);
	if (pid < 0) {
		fd_close(pair[0]);
		return err_sys(err, pid, "start the tool's process");
	}
	fd_close(pidfd);
	do
		n = read(pair[0], &failed, sizeof(failed));
	while (n < 0 && errno == EINTR);
	fd_close(pair[0]);
	if (n != (ssize_t)sizeof(failed))
		return pid;
	waitpid(pid, NULL, 0);
	*err = failed;
	return failed.errnum ? -failed.errnum : -EPIPE;
}

static pid_t launch_command(const struct warden_job *job, struct err *err)
{
	static char stack[32768] __attribute__((aligned(16)));
	struct launch launch = {.job = job, .err = err};
	pid_t pid;

	if (job->tool)
		return launch_tool(job, err);
	pid = clone(launch_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &launch);
	if (pid < 0)
		return err_sys(err, -errno, "start the command's process");
	if (launch.error == 0)
		return pid;
	waitpid(pid, NULL, 0);
	return launch.error;
}

struct warden {
	const struct warden_job *job;
	pid_t command;
	bool enclosed; /* kill(-1) reaches the run and nobody else, as in a pid namespace */
	bool hushed;   /* everybody is stopped by order, which is no news */
};

static void signal_everybody(const struct warden *w, int sig)
{
	if (w->job->owns_pidns || w->enclosed)
		(void)kill(-1, sig);
	else
		(void)tree_signal(sig);
}

_Noreturn static void end_run(const struct warden *w, int status)
{
	/* Before the report: it says that nothing of the run is left. What the
	 * kernel cannot end is the supervisor's to try again. */
	if (!w->job->owns_pidns)
		(void)tree_kill(END_OF_TREE_MS, w->enclosed);
	if (status < 0 && w->job->scratch)
		scratch_remove_left(w->job->scratch);
	if (status >= 0) {
		struct warden_report report = {.kind = WARDEN_EXITED, .status = status};

		/* A supervisor that is gone needs no report. */
		(void)warden_send_report(w->job->channel, &report);
	}
	_exit(status >= 0 ? 0 : 1);
}

/* The kernel tells of a stop only while it lasts. */
static void report_stop(const struct warden_job *job, int status)
{
	struct warden_report report = {.kind = WARDEN_STOPPED, .status = status};

	(void)warden_send_report(job->channel, &report);
}

/* Reap what is there, but in a flood look at the orders, too: true when more may be
 * there. Does not return once the command has ended. */
static bool reap(const struct warden *w)
{
	int flags = WNOHANG | (w->job->terminal >= 0 ? WUNTRACED : 0);

	for (int i = 0; i < REAP_MAX; i++) {
		int status;
		pid_t pid = waitpid(-1, &status, flags);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			return false;
		if (pid == w->command && WIFSTOPPED(status) && !w->hushed)
			report_stop(w->job, status);
		if (pid == w->command && !WIFSTOPPED(status))
			end_run(w, status);
	}
	return true;
}

static void obey(struct warden *w)
{
	const struct timespec closers_turn = {.tv_nsec = 100000000};
	struct warden_order order;
	int r = warden_receive_order(w->job->channel, &order);

	if (r == -EAGAIN || r == -EINTR)
		return;
	if (r < 0) { /* the supervisor is gone */
		/* The closer is about to kill us. Should both kill each other, nobody
		 * would be left to clean up; one that is stopped does nothing. */
		if (w->enclosed)
			nanosleep(&closers_turn, NULL);
		end_run(w, -1);
	}
	if (order.value == SIGSTOP || order.value == SIGCONT)
		w->hushed = order.value == SIGSTOP;
	if (order.kind == WARDEN_SIGNAL_ALL)
		signal_everybody(w, order.value);
	else
		(void)kill(-w->command, order.value);
}

_Noreturn static void fail(const struct warden_job *job, const struct err *err)
{
	struct warden_report report = {.kind = WARDEN_FAILED, .err = *err};

	(void)warden_send_report(job->channel, &report);
	_exit(1);
}

/* The domain of the warden lies around the command's: the one ends all of the run
 * with one call, and the other cannot touch the warden. */
static int enclose(struct warden *w, struct err *err)
{
	const struct landlock *landlock = w->job->landlock;
	int r;

	if (w->job->owns_pidns || !landlock || !(landlock->about & LANDLOCK_SIGNALS))
		return 0;
	r = landlock_enclose(err);
	w->enclosed = r == 0;
	return r < 0 ? r : closer_start(w->job, err);
}

static int prepare(struct warden *w, struct err *err)
{
	const struct warden_job *job = w->job;

	if (!job->owns_pidns && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_sys(err, -errno, "become a subreaper");
	if (job->terminal >= 0 && ioctl(job->terminal, TIOCSCTTY, 0) < 0)
		return err_sys(err, -errno, "take the terminal");
	if (!job->owns_pidns)
		be_quick();
	return enclose(w, err);
}

_Noreturn static void watch(struct warden *w, int children)
{
	struct pollfd fds[2] = {{.fd = children, .events = POLLIN},
				{.fd = w->job->channel, .events = POLLIN}};
	bool more = false;

	for (;;) {
		struct signalfd_siginfo info;

		if (poll(fds, 2, more ? 0 : -1) < 0 && errno != EINTR)
			end_run(w, -1);
		while (read(children, &info, sizeof(info)) == (ssize_t)sizeof(info))
			;
		more = reap(w);
		if (fds[1].revents)
			obey(w);
	}
}

_Noreturn void warden_run(const struct warden_job *job)
{
	struct warden_report starting = {.kind = WARDEN_STARTING};
	struct warden w = {.job = job};
	struct err err = {0};
	sigset_t all;
	int children;

	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0) {
		err_sys(&err, -errno, "block signals");
		fail(job, &err);
	}
	children = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (children < 0) {
		err_sys(&err, -errno, "signalfd");
		fail(job, &err);
	}
	if (prepare(&w, &err) < 0)
		fail(job, &err);
	if (!job->observed && warden_send_report(job->channel, &starting) < 0)
		_exit(1);
	w.command = launch_command(job, &err);
	if (w.command < 0)
		fail(job, &err);
	/* The command's input and output are its own: a reader must see their end
	 * when the command closes them. */
	sys_close_range(0, 2, 0);
	if (job->observed && confine_seccomp(step_seccomp(job->observed), &err) < 0)
		end_run(&w, -1);
	watch(&w, children);
}
