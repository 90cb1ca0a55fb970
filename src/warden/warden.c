/* SPDX-License-Identifier: MIT */
#include "warden/warden.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/sys.h"
#include "confine/confine.h"
#include "confine/landlock.h"
#include "warden/closer.h"
#include "warden/errands.h"
#include "warden/launch.h"
#include "warden/protocol.h"
#include "warden/scratch.h"
#include "warden/sockets.h"
#include "warden/spare.h"
#include "warden/step.h"
#include "warden/tree.h"

enum { END_OF_TREE_MS = 2000, REAP_MAX = 1000 };

void warden_forget_environment(void)
{
	for (char **variable = environ; variable && *variable; variable++)
		explicit_bzero(*variable, strlen(*variable));
	environ = NULL;
}

void warden_signal_all(const struct warden *w, int sig)
{
	if (w->job->owns_pidns || w->enclosed)
		(void)kill(-1, sig);
	else
		(void)tree_signal(sig);
}

_Noreturn void warden_end(const struct warden *w, int status)
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
			warden_end(w, status);
	}
	return true;
}

_Noreturn void warden_orphaned(const struct warden *w)
{
	const struct timespec closers_turn = {.tv_nsec = 100000000};

	/* The closer is about to kill us. Should both kill each other, nobody
	 * would be left to clean up; one that is stopped does nothing. */
	if (w->enclosed)
		nanosleep(&closers_turn, NULL);
	warden_end(w, -1);
}

static void obey(struct warden *w)
{
	struct warden_order order;
	int r = warden_receive_order(w->job->channel, &order);

	if (r == -EAGAIN || r == -EINTR)
		return;
	if (r < 0)
		warden_orphaned(w);
	if (order.value == SIGSTOP || order.value == SIGCONT)
		w->hushed = order.value == SIGSTOP;
	if (order.kind == WARDEN_SIGNAL_ALL)
		warden_signal_all(w, order.value);
	else if (order.kind == WARDEN_SIGNAL)
		(void)kill(-w->command, order.value);
	else if (order.kind == WARDEN_MORE_SOCKETS && sockets_send_more(w->job->channel) < 0)
		warden_orphaned(w);
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
	int r;

	if (!job->owns_pidns && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_sys(err, -errno, "become a subreaper");
	if (job->terminal >= 0 && ioctl(job->terminal, TIOCSCTTY, 0) < 0)
		return err_sys(err, -errno, "take the terminal");
	r = landlock_enter_around(job->landlock, err);
	return r < 0 ? r : enclose(w, err);
}

/* May the warden be under the command's filter, whose listener may be gone before it? Where its
 * end is everybody's and nothing is to be cleaned up it makes no call that anybody is told of,
 * and a second filter is a large part of a start. */
static bool shares_filter(const struct warden_job *job)
{
	return job->observed && job->owns_pidns && !job->scratch;
}

_Noreturn static void watch(struct warden *w, int children)
{
	struct pollfd fds[2] = {{.fd = children, .events = POLLIN},
				{.fd = w->job->channel, .events = POLLIN}};
	bool more = false;

	for (;;) {
		struct signalfd_siginfo info;

		if (poll(fds, 2, more ? 0 : -1) < 0 && errno != EINTR)
			warden_end(w, -1);
		if (read(children, &info, sizeof(info)) < 0 && errno != EAGAIN && errno != EINTR)
			warden_end(w, -1);
		more = reap(w);
		if (fds[1].revents)
			obey(w);
	}
}

_Noreturn void warden_run(const struct warden_job *job)
{
	struct warden w = {.job = job};
	struct err err = {0};
	sigset_t all, of_children;
	int children, listener = -1;

	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0) {
		err_sys(&err, -errno, "block signals");
		fail(job, &err);
	}
	/* Others are sent from inside, if at all: they wait for ever, and wake nobody. */
	sigemptyset(&of_children);
	sigaddset(&of_children, SIGCHLD);
	sigaddset(&of_children, SPARE_SIGNAL);
	children = signalfd(-1, &of_children, SFD_CLOEXEC | SFD_NONBLOCK);
	if (children < 0) {
		err_sys(&err, -errno, "signalfd");
		fail(job, &err);
	}
	if (prepare(&w, &err) < 0 ||
	    (!job->stands && shares_filter(job) &&
	     launch_observe(job->observed, &listener, &err) < 0) ||
	    (job->await && job->await(job->await_data, &err) < 0))
		fail(job, &err);
	if (job->stands)
		errands_serve(&w, children);
	if (launch_report(0, job->channel, listener, &err) < 0)
		_exit(1);
	w.command = launch_command(job,
				   &(struct launch){.argv = job->argv,
						    .env = job->env,
						    .is_tool = job->tool,
						    .is_observed = shares_filter(job),
						    .terminal = job->terminal},
				   &err);
	if (w.command < 0)
		fail(job, &err);
	/* The command's input and output are its own: a reader must see their end
	 * when the command closes them. */
	sys_close_range(0, 2, 0);
	if (job->observed && !shares_filter(job) &&
	    confine_seccomp(step_seccomp(job->observed), &err) < 0)
		warden_end(&w, -1);
	watch(&w, children);
}
