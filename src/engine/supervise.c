/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/sys.h"
#include "engine/contain.h"
#include "engine/engine.h"
#include "engine/guard.h"
#include "engine/loop.h"
#include "engine/userns.h"
#include "plan/plan.h"
#include "result/result.h"
#include "warden/protocol.h"
#include "warden/tree.h"

enum {
	GRACE_MS = 2000, /* between SIGTERM and SIGKILL */
	TREE_END_MS = 2000,
};

static const int forwarded[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
				SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

struct supervisor {
	const struct plan *plan;
	const struct stdio *stdio;
	struct loop loop;
	struct loop_timer deadline;
	struct guard guard;
	pid_t warden;
	int pidfd;
	int channel;
	int signals;
	uint64_t started_ns;
	bool timed_out;
	int status;
	bool failed;
};

/* 0, 1 and 2 must be taken, or a descriptor of ours would become the
 * command's stdin. A folder among them would lead out of the sandbox. */
static int check_stdio(const struct stdio *stdio, struct err *err)
{
	for (int fd = 0; fd <= 2; fd++) {
		struct stat st;

		if (fcntl(fd, F_GETFD) < 0 || fstat(stdio->fd[fd], &st) < 0)
			return err_sys(err, -errno, "descriptor %d", fd);
		if (S_ISDIR(st.st_mode)) {
			err_set(err, ERR_USAGE, -EISDIR,
				"descriptor %d is a folder: it would lead out of the sandbox", fd);
			return err_hint(err, -EISDIR,
					"redirect it from or to a file, a pipe or /dev/null");
		}
	}
	return 0;
}

static int catch_signals(struct supervisor *s, struct err *err)
{
	sigset_t set;

	/* Whoever started us may ignore SIGCHLD: exit statuses would be lost. The
	 * command expects the other two to be as they are by default. */
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigemptyset(&set);
	for (size_t i = 0; i < array_len(forwarded); i++)
		sigaddset(&set, forwarded[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? err_sys(err, -errno, "signalfd") : 0;
}

static void explain_clone(int r, struct err *err)
{
	err_sys(err, r, "create the namespaces");
	if (r == -ENOSPC)
		err_hint(err, r, "a limit is reached: see `sysctl user.max_user_namespaces`");
	else if (r == -EPERM || r == -EACCES)
		err_hint(err, r,
			 "user namespaces are not allowed here: `sysctl -w "
			 "kernel.unprivileged_userns_clone=1 "
			 "kernel.apparmor_restrict_unprivileged_userns=0`, as far as they exist");
}

static int start_warden(struct supervisor *s, struct err *err)
{
	struct sys_clone_args args = {.flags = s->plan->namespaces | CLONE_PIDFD,
				      .pidfd = (uint64_t)(uintptr_t)&s->pidfd,
				      .exit_signal = SIGCHLD};
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, -errno, "socketpair");
	s->channel = pair[0];
	/* Without a pid namespace, orphans of a killed warden come to us. */
	if (!(s->plan->namespaces & CLONE_NEWPID) &&
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
		r = err_sys(err, -errno, "become a subreaper");
		fd_close(pair[1]);
		return r;
	}
	r = sys_clone3(&args);
	if (r == 0) {
		fd_close(pair[0]);
		contain(s->plan, pair[1], s->stdio);
	}
	fd_close(pair[1]);
	if (r < 0) {
		explain_clone(r, err);
		return r;
	}
	s->warden = r;
	guard_enter(&s->guard, s->warden);
	return userns_serve(s->plan, s->warden, s->channel, err);
}

static void kill_run(struct supervisor *s)
{
	if (s->pidfd >= 0)
		(void)sys_pidfd_send_signal(s->pidfd, SIGKILL);
}

static int stop_all(void *data, bool stop)
{
	struct supervisor *s = data;

	return warden_send_order(s->channel, WARDEN_SIGNAL_ALL, stop ? SIGSTOP : SIGCONT);
}

static void end_all(void *data)
{
	kill_run(data);
}

static int open_guard(struct supervisor *s, struct result *ret, struct err *err)
{
	const struct guard_power power = {.stop = stop_all, .end = end_all, .data = s};

	return guard_open(&s->guard, s->plan, &power, &ret->events, err);
}

/* Once the warden is gone, and with it everything inside. One that did not
 * report its end was killed, and took along what it had started. */
static void take_report(struct supervisor *s, struct err *err)
{
	struct warden_report report;
	bool starting = false;
	int r;

	do {
		r = warden_receive_report(s->channel, &report);
		starting |= r == 0 && report.kind == WARDEN_STARTING;
	} while (r == -EINTR || (r == 0 && report.kind == WARDEN_STARTING));
	s->status = r == 0 ? report.status : SIGKILL;
	s->failed = r == 0 ? report.kind == WARDEN_FAILED : r == -EPIPE && !starting;
	if (r == 0 && report.kind == WARDEN_FAILED)
		*err = report.err;
}

static void pass_signal(struct supervisor *s, int sig)
{
	if (!warden_has_report(s->channel) && sig != SIGTSTP && sig != SIGCONT) {
		kill_run(s); /* nothing is there yet that could handle it */
	} else if (sig == SIGTSTP) {
		warden_send_order(s->channel, WARDEN_SIGNAL_ALL, SIGSTOP);
		raise(SIGSTOP);
	} else if (sig == SIGCONT) {
		warden_send_order(s->channel, WARDEN_SIGNAL_ALL, SIGCONT);
	} else {
		warden_send_order(s->channel, WARDEN_SIGNAL, sig);
	}
}

static void on_signals(void *data, short revents)
{
	struct supervisor *s = data;
	struct signalfd_siginfo info;

	(void)revents;
	while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		pass_signal(s, (int)info.ssi_signo);
}

/* First ask, then insist. */
static void on_deadline(void *data, short revents)
{
	struct supervisor *s = data;

	(void)revents;
	if (s->timed_out) {
		kill_run(s);
		return;
	}
	s->timed_out = true;
	warden_send_order(s->channel, WARDEN_SIGNAL_ALL, SIGTERM);
	/* A stopped process acts on it only when it goes on. */
	warden_send_order(s->channel, WARDEN_SIGNAL_ALL, SIGCONT);
	s->deadline.at_ns = clock_mono_ns() + GRACE_MS * 1000000ull;
}

static void on_end(void *data, short revents)
{
	struct supervisor *s = data;

	(void)revents;
	s->loop.done = true;
}

/* Until the warden ends. Its report can wait: to be woken for it as well would
 * cost more than it tells. */
static void watch(struct supervisor *s)
{
	loop_add(&s->loop, s->pidfd, POLLIN, on_end, s);
	loop_add(&s->loop, s->signals, POLLIN, on_signals, s);
	guard_watch(&s->guard, &s->loop);
	if (s->plan->timeout_ms != UINT64_MAX) {
		s->deadline = (struct loop_timer){.at_ns = s->started_ns +
							   s->plan->timeout_ms * 1000000,
						  .fn = on_deadline,
						  .data = s};
		loop_add_timer(&s->loop, &s->deadline);
	}
	loop_run(&s->loop);
}

/* Reap the warden and what it left, which is nothing with a pid namespace. */
static void collect(struct supervisor *s, struct result *ret)
{
	struct rusage usage = {0};

	while (wait4(s->warden, NULL, 0, &usage) < 0 && errno == EINTR)
		;
	if (!(s->plan->namespaces & CLONE_NEWPID))
		(void)tree_kill(TREE_END_MS);
	ret->duration_ms = (clock_mono_ns() - s->started_ns) / 1000000;
	ret->usage = (struct usage){
		.memory_peak = USAGE_UNKNOWN,
		.cpu_ms = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
			  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000,
		.pids_peak = USAGE_UNKNOWN,
		.written = USAGE_UNKNOWN,
	};
}

static void judge(const struct supervisor *s, struct result *ret)
{
	ret->exit_code = WIFEXITED(s->status) ? WEXITSTATUS(s->status) : -1;
	ret->signal = WIFSIGNALED(s->status) ? WTERMSIG(s->status) : 0;
	if (s->timed_out)
		ret->outcome = OUTCOME_TIMEOUT;
	else if (ret->signal)
		ret->outcome = OUTCOME_SIGNALED;
	else
		ret->outcome = ret->exit_code == 0 ? OUTCOME_OK : OUTCOME_FAILED;
}

int engine_run(const struct plan *plan, const struct stdio *stdio, struct result *ret,
	       struct err *err)
{
	struct supervisor s = {.plan = plan,
			       .stdio = stdio,
			       .pidfd = -1,
			       .channel = -1,
			       .signals = -1,
			       .guard = {.inotify = -1, .quarantine.fd = -1, .rebind = {-1, -1}},
			       .started_ns = clock_mono_ns()};
	int r;

	r = check_stdio(stdio, err);
	if (r == 0)
		r = catch_signals(&s, err);
	if (r == 0)
		r = open_guard(&s, ret, err);
	if (r == 0)
		r = start_warden(&s, err);
	if (r == 0)
		watch(&s);
	else
		kill_run(&s);
	if (s.warden > 0)
		collect(&s, ret);
	if (s.warden > 0)
		guard_finish(&s.guard);
	guard_close(&s.guard);
	if (s.warden > 0)
		take_report(&s, err);
	fd_close(s.channel);
	fd_close(s.signals);
	fd_close(s.pidfd);
	if (r < 0)
		return r;
	if (s.failed) {
		if (!err->message[0])
			err_set(err, ERR_SYSTEM, -EPIPE,
				"the sandbox ended before the command started");
		return err->errnum ? -err->errnum : -EPIPE;
	}
	judge(&s, ret);
	return 0;
}
