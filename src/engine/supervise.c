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
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/quick.h"
#include "base/sys.h"
#include "engine/bwrap.h"
#include "engine/contain.h"
#include "engine/engine.h"
#include "engine/limiter.h"
#include "engine/guard.h"
#include "base/loop.h"
#include "engine/scope.h"
#include "engine/streams.h"
#include "engine/staged.h"
#include "engine/userns.h"
#include "plan/plan.h"
#include "result/result.h"
#include "warden/protocol.h"
#include "warden/scratch.h"
#include "warden/tree.h"

enum {
	GRACE_MS = 2000,      /* between SIGTERM and SIGKILL, */
	TREE_GRACE_MS = 1250, /* where killing is not the kernel's work, and takes time */
	HANGUP_MS = 2000,     /* for those inside to kill everybody */
	TREE_END_MS = 2000,
};

static const int taken[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
			    SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};

struct supervisor {
	const struct plan *plan;
	struct streams streams;
	struct bwrap bwrap; /* ENGINE_BWRAP */
	struct loop loop;
	struct loop_timer deadline;
	struct limiter limiter;
	int lifeline; /* 0: none */
	struct guard guard;
	pid_t warden;
	int pidfd;
	int channel;
	int signals;
	const struct watcher *watcher; /* NULL: nobody looks */
	int listener;                  /* -1: not yet, or none */
	struct scratch scratch;
	uint64_t started_ns;
	bool asked_to_end, hung_up, timed_out;
	bool ended;       /* the warden has, and with it everything inside */
	bool stopped_all; /* by our order */
	bool starting;    /* reported, as the next three */
	bool reported;    /* how it ended */
	int status;
	bool failed;
	struct err *err;
};

static int catch_signals(struct supervisor *s, struct err *err)
{
	sigset_t set;

	/* Whoever started us may ignore SIGCHLD: exit statuses would be lost. The
	 * command expects the other two to be as they are by default. */
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigemptyset(&set);
	for (size_t i = 0; i < array_len(taken); i++)
		sigaddset(&set, taken[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? err_sys(err, -errno, "signalfd") : 0;
}

/* Does the end of our child end everything? bwrap's does not: the warden is one
 * further down, and comes to us when bwrap is killed. */
static bool child_owns_all(const struct supervisor *s)
{
	return s->plan->engine == ENGINE_NATIVE && s->plan->namespaces & CLONE_NEWPID;
}

_Noreturn static void become_bwrap(const struct supervisor *s, int channel)
{
	struct warden_report failed = {.kind = WARDEN_FAILED};

	if (cgroup_join(&s->limiter.cgroup, &failed.err) == 0)
		(void)bwrap_exec(&s->bwrap, channel, &failed.err);
	(void)warden_send_report(channel, &failed);
	_exit(1);
}

static void note_report(struct supervisor *s, const struct warden_report *report)
{
	s->starting |= report->kind == WARDEN_STARTING || report->kind == WARDEN_LISTENER;
	s->reported = report->kind == WARDEN_EXITED || report->kind == WARDEN_FAILED;
	s->status = report->status;
	s->failed = report->kind == WARDEN_FAILED;
	if (s->failed)
		*s->err = report->err;
}

/* A child that fails before it has mounted says so, or is simply gone: that is seen
 * when its end is. */
static int serve_stage(struct supervisor *s, struct err *err)
{
	struct warden_report report;
	int r = staged_serve(s->plan->staging, s->channel, &report, err);

	if (r > 0)
		note_report(s, &report);
	return r > 0 || r == -EPIPE ? 0 : r;
}

static int start_warden(struct supervisor *s, struct err *err)
{
	bool by_bwrap = s->plan->engine == ENGINE_BWRAP;
	struct sys_clone_args args = {.flags = (by_bwrap ? 0 : s->plan->namespaces) | CLONE_PIDFD,
				      .pidfd = (uint64_t)(uintptr_t)&s->pidfd,
				      .exit_signal = SIGCHLD};
	int pair[2], r, cgroup = cgroup_clone_fd(&s->limiter.cgroup);

	if (cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup;
	}

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, -errno, "socketpair");
	s->channel = pair[0];
	/* Orphans of a killed warden come to us. */
	if (!child_owns_all(s) && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
		r = err_sys(err, -errno, "become a subreaper");
		fd_close(pair[1]);
		return r;
	}
	r = sys_clone3(&args);
	if (r < 0 && args.flags == CLONE_PIDFD)
		r = sys_fork(&s->pidfd);
	if (r == 0) {
		fd_close(pair[0]);
		if (by_bwrap)
			become_bwrap(s, pair[1]);
		contain(s->plan, pair[1], &s->streams.inner, &s->limiter.cgroup,
			&s->streams.terminal.like);
	}
	fd_close(pair[1]);
	if (r < 0) {
		if (!(args.flags & CLONE_NEWUSER))
			return err_sys(err, r, "create a process");
		return userns_refused(err_sys(err, r, "create the namespaces"), err);
	}
	s->warden = r;
	if (by_bwrap)
		return 0; /* the sandbox is further down: nothing can be bound again there */
	guard_enter(&s->guard, s->warden);
	r = userns_serve(s->plan, s->warden, s->channel, err);
	if (r == 0 && cgroup_is_passed(s->plan)) {
		r = limiter_open(&s->limiter, s->plan, err);
		if (r == 0)
			r = cgroup_pass(&s->limiter.cgroup, s->channel, err);
	}
	return r < 0 || !s->plan->staging ? r : serve_stage(s, err);
}

static void kill_warden(struct supervisor *s)
{
	if (s->pidfd >= 0)
		(void)sys_pidfd_send_signal(s->pidfd, SIGKILL);
}

static bool reads_reports(const struct supervisor *s)
{
	return s->streams.terminal.like.mask || s->watcher;
}

static bool has_started(struct supervisor *s)
{
	return reads_reports(s) ? s->starting : warden_has_report(s->channel);
}

/* Without a pid namespace those inside can end everybody at once, which we cannot: the
 * closer and the warden do when we hang up. Should that take too long, we try. */
static void kill_run(struct supervisor *s)
{
	if (s->hung_up || s->plan->namespaces & CLONE_NEWPID || !has_started(s) ||
	    shutdown(s->channel, SHUT_WR) < 0) {
		kill_warden(s);
		return;
	}
	s->asked_to_end = s->hung_up = true;
	s->deadline.at_ns = clock_mono_ns() + HANGUP_MS * 1000000ull;
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
static void take_report(struct supervisor *s)
{
	struct warden_report report;
	int r = 0;

	while (!s->reported && (r == 0 || r == -EINTR)) {
		r = warden_receive_report(s->channel, &report);
		if (r == 0)
			note_report(s, &report);
	}
	if (s->reported)
		return;
	s->status = SIGKILL;
	s->failed = r == -EPIPE && !s->starting;
}

/* As the terminal would have done, had it not been in raw mode: the whole group
 * of ours stops, unless nobody is there who could let it go on. */
static void stop_like_the_command(struct supervisor *s)
{
	sigset_t tstp;

	streams_suspend(&s->streams);
	/* While we are stopped nobody watches: nobody may go on, whatever its group. */
	warden_send_order(s->channel, WARDEN_SIGNAL_ALL, SIGSTOP);
	sigemptyset(&tstp);
	sigaddset(&tstp, SIGTSTP);
	(void)kill(0, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &tstp, NULL);
	sigprocmask(SIG_BLOCK, &tstp, NULL);
	streams_resume(&s->streams);
	warden_send_order(s->channel, WARDEN_SIGNAL_ALL, SIGCONT);
}

static void on_listener(void *data, short revents)
{
	struct supervisor *s = data;

	if (revents & POLLIN && s->watcher->serve(s->watcher->data))
		return;
	if (revents & POLLIN)
		kill_run(s);                /* its calls would wait for ever */
	loop_remove(&s->loop, s->listener); /* nobody is left who could call */
}

static void take_listener(struct supervisor *s, int listener)
{
	/* Calls that nobody ever answers: better no run. */
	if (listener < 0) {
		kill_run(s);
		return;
	}
	s->listener = listener;
	s->watcher->begin(s->watcher->data, listener);
	loop_add(&s->loop, listener, POLLIN, on_listener, s);
}

/* Only where the command has a terminal or is observed; else reports can wait until the
 * end. */
static void on_report(void *data, short revents)
{
	struct supervisor *s = data;
	struct warden_report report;
	int fd = -1, r = warden_receive_terminal(s->channel, &report, &fd);

	(void)revents;
	if (r == -EINTR)
		return;
	if (r < 0) {
		loop_remove(&s->loop, s->channel);
		if (s->watcher && !s->starting && r != -EPIPE)
			take_listener(s, -1);
		return;
	}
	note_report(s, &report);
	if (report.kind == WARDEN_TERMINAL)
		streams_attach(&s->streams, fd);
	else if (report.kind == WARDEN_STOPPED)
		stop_like_the_command(s);
	else if (report.kind == WARDEN_LISTENER)
		take_listener(s, fd);
	if (s->starting && !s->streams.terminal.like.mask)
		loop_remove(&s->loop, s->channel);
}

static void pass_stop(struct supervisor *s)
{
	streams_suspend(&s->streams);
	warden_send_order(s->channel, WARDEN_SIGNAL_ALL, SIGSTOP);
	s->stopped_all = true;
	raise(SIGSTOP);
}

/* A shell inside may have stopped jobs of its own, which are not ours to wake. */
static void pass_continue(struct supervisor *s)
{
	bool all = s->stopped_all || !s->streams.terminal.like.interactive;

	s->stopped_all = false;
	warden_send_order(s->channel, all ? WARDEN_SIGNAL_ALL : WARDEN_SIGNAL, SIGCONT);
	streams_resume(&s->streams);
}

static void pass_signal(struct supervisor *s, int sig)
{
	if (sig == SIGTSTP)
		pass_stop(s);
	else if (sig == SIGCONT)
		pass_continue(s);
	else if (sig == SIGWINCH)
		terminal_resize(&s->streams.terminal);
	else if (s->ended)
		s->loop.done = true; /* nothing is left but output that nobody takes */
	else if (!has_started(s))
		kill_warden(s); /* nothing is there yet that could handle it */
	else
		warden_send_order(s->channel, WARDEN_SIGNAL, sig);
}

static void on_signals(void *data, short revents)
{
	struct supervisor *s = data;
	struct signalfd_siginfo info;

	(void)revents;
	while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		pass_signal(s, (int)info.ssi_signo);
}

/* First ask, then insist. Who is late to ask, as in a flood, makes up for some of it. */
static void end_run(struct supervisor *s, uint64_t due_ns)
{
	const uint64_t grace_ns = (child_owns_all(s) ? GRACE_MS : TREE_GRACE_MS) * 1000000ull;
	uint64_t soonest = clock_mono_ns() + grace_ns / 2;

	if (s->asked_to_end) {
		kill_run(s);
		return;
	}
	s->asked_to_end = true;
	warden_send_order(s->channel, WARDEN_SIGNAL_ALL, SIGTERM);
	/* A stopped process acts on it only when it goes on. */
	warden_send_order(s->channel, WARDEN_SIGNAL_ALL, SIGCONT);
	s->deadline.at_ns = due_ns + grace_ns > soonest ? due_ns + grace_ns : soonest;
}

static void on_deadline(void *data, short revents)
{
	struct supervisor *s = data;

	(void)revents;
	if (s->ended) {
		s->loop.done = true;
		return;
	}
	s->timed_out |= !s->asked_to_end;
	end_run(s, s->started_ns + s->plan->timeout_ms * 1000000);
}

static void on_limit(void *data, bool at_once)
{
	struct supervisor *s = data;

	if (s->ended)
		return;
	if (at_once)
		kill_run(s);
	else if (!s->asked_to_end)
		end_run(s, clock_mono_ns());
}

/* Whoever asked for the run is gone, or wants it gone. */
static void on_hangup(void *data, short revents)
{
	struct supervisor *s = data;

	(void)revents;
	loop_remove(&s->loop, s->lifeline);
	kill_run(s);
}

static void on_end(void *data, short revents)
{
	struct supervisor *s = data;

	(void)revents;
	s->ended = true;
	if (streams_end(&s->streams)) {
		s->loop.done = true;
		return;
	}
	/* Whoever takes our output has as long as he likes, unless time is up. */
	loop_remove(&s->loop, s->pidfd);
	if (s->timed_out)
		s->deadline.at_ns = clock_mono_ns() + GRACE_MS * 1000000ull;
}

/* Until the warden ends. Its report can wait: to be woken for it as well would
 * cost more than it tells. A terminal cannot: it comes with a report, which is
 * looked at before the end. */
static void watch(struct supervisor *s)
{
	if (!child_owns_all(s))
		be_quick();
	streams_start(&s->streams, &s->loop, s->channel);
	if (reads_reports(s))
		loop_add(&s->loop, s->channel, POLLIN, on_report, s);
	loop_add(&s->loop, s->pidfd, POLLIN, on_end, s);
	loop_add(&s->loop, s->signals, POLLIN, on_signals, s);
	s->deadline = (struct loop_timer){.at_ns = s->plan->timeout_ms == UINT64_MAX
							   ? LOOP_NEVER
							   : s->started_ns +
								     s->plan->timeout_ms * 1000000,
					  .fn = on_deadline,
					  .data = s};
	loop_add_timer(&s->loop, &s->deadline);
	if (s->lifeline)
		loop_add(&s->loop, s->lifeline, POLLRDHUP, on_hangup, s);
	guard_watch(&s->guard, &s->loop);
	limiter_watch(&s->limiter, &s->loop, s->warden, on_limit, s);
	loop_run(&s->loop);
}

/* Reap the warden and what it left, which is nothing with a pid namespace. */
static void collect(struct supervisor *s, struct result *ret)
{
	struct rusage usage = {0};

	while (wait4(s->warden, NULL, 0, &usage) < 0 && errno == EINTR)
		;
	if (!child_owns_all(s)) {
		(void)shutdown(s->channel, SHUT_WR);
		(void)tree_kill(TREE_END_MS, false);
	}
	ret->duration_ms = (clock_mono_ns() - s->started_ns) / 1000000;
	ret->usage = (struct usage){
		.memory_peak = (uint64_t)usage.ru_maxrss * 1024, /* of the largest process */
		.cpu_ms = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
			  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000,
		.pids_peak = USAGE_UNKNOWN,
		.written = (uint64_t)usage.ru_oublock * 512,
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
	limiter_judge(&s->limiter, ret);
}

/* All that a run needs and that fails without harm: nothing was started yet. */
static int open_parts(struct supervisor *s, const struct stdio *stdio, struct result *ret,
		      struct err *err)
{
	int r = streams_init(&s->streams, s->plan, stdio, err);

	if (r == 0)
		r = catch_signals(s, err);
	if (r == 0 && s->plan->engine == ENGINE_BWRAP)
		r = bwrap_prepare(s->plan, &s->streams.inner, &s->bwrap, err);
	if (r == 0 && !cgroup_is_passed(s->plan))
		r = limiter_open(&s->limiter, s->plan, err);
	if (r == 0)
		r = scratch_make(s->plan, &s->scratch, err);
	return r < 0 ? r : open_guard(s, ret, err);
}

/* After the end: what was left behind, and what was reported. */
static void settle(struct supervisor *s, struct result *ret)
{
	if (s->warden > 0)
		collect(s, ret);
	scratch_remove(s->plan, &s->scratch);
	if (s->warden > 0)
		guard_finish(&s->guard);
	guard_close(&s->guard);
	if (s->warden > 0)
		take_report(s);
	ret->output_dropped = streams_release(&s->streams);
	fd_close(s->listener);
	fd_close(s->channel);
	fd_close(s->signals);
	fd_close(s->pidfd);
}

/* R: of the supervisor's own steps. Why was nothing executed? */
static int explain_failure(struct supervisor *s, int r, struct err *err)
{
	if (r == 0 && s->plan->engine == ENGINE_BWRAP && !err->message[0])
		bwrap_explain(&s->bwrap, err);
	if (err->code == ERR_NO_NAMESPACES)
		userns_hint(err);
	if (r < 0)
		return r;
	if (!err->message[0])
		err_set(err, ERR_SYSTEM, -EPIPE, "the sandbox ended before the command started");
	return err->errnum ? -err->errnum : -EPIPE;
}

int engine_run(const struct plan *plan, const struct stdio *stdio, const struct watcher *watcher,
	       struct result *ret, struct err *err)
{
	struct supervisor s = {.plan = plan,
			       .pidfd = -1,
			       .channel = -1,
			       .signals = -1,
			       .watcher = watcher,
			       .listener = -1,
			       .err = err,
			       .bwrap = {.stderr_read = -1, .stderr_write = -1, .null = -1},
			       .scratch = SCRATCH_NONE,
			       .lifeline = stdio->lifeline,
			       .guard = {.tripwire.signals = -1,
					 .inotify = -1,
					 .quarantine.fd = -1,
					 .rebind = {-1, -1}},
			       .started_ns = clock_mono_ns()};
	int r;

	limiter_init(&s.limiter);
	if (plan->limits.site.rung == RUNG_SYSTEMD && !plan->limits.site.dirs[0])
		return scope_enter(err);
	r = open_parts(&s, stdio, ret, err);
	if (r == 0)
		r = start_warden(&s, err);
	if (r == 0)
		watch(&s);
	else
		kill_warden(&s);
	settle(&s, ret);
	if (r < 0 || s.failed)
		r = explain_failure(&s, r, err);
	else
		judge(&s, ret);
	bwrap_release(&s.bwrap);
	limiter_close(&s.limiter);
	return r;
}
