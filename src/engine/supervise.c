/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "engine/engine.h"
#include "engine/outlet.h"
#include "engine/sandbox.h"
#include "engine/sentry.h"
#include "engine/scope.h"
#include "engine/streams.h"
#include "plan/plan.h"
#include "result/result.h"
#include "warden/protocol.h"

enum {
	GRACE_MS = 2000,      /* between SIGTERM and SIGKILL, */
	POSTS_MAX = 16,       /* tries to stop */
	REPORTS_MAX = 8,      /* before the command starts */
	START_TRIES = 100,    /* looks whether it has started, */
	START_TRY_MS = 20,    /* each at most so long */
	TREE_GRACE_MS = 1250, /* where killing is not the kernel's work, and takes time */
};

static const int taken[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
			    SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};

struct supervisor {
	const struct plan *plan;
	struct streams streams;
	struct sandbox sandbox;
	struct loop loop;
	struct loop_timer deadline;
	int lifeline; /* 0: none */
	int channel;  /* the sandbox's */
	int signals;
	const struct watcher *watcher; /* NULL: nobody looks */
	int listener;                  /* -1: not yet, or none */
	struct outlet outlet;
	uint64_t started_ns;
	bool asked_to_end, timed_out;
	bool ended;       /* the warden has, and with it everything inside */
	bool stopped_all; /* by our order */
	bool starting;    /* reported, as the next three */
	bool reported;    /* how it ended */
	int status;
	bool failed;
	bool deaf; /* to reports, for the rest of the run */
	struct err *err;
};

static struct streams *carried; /* of the run that goes on in this process */
static struct cgroup left;      /* of the one that has ended */
static bool has_left;

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

static void note_report(struct supervisor *s, const struct warden_report *report)
{
	s->starting |= report->kind == WARDEN_STARTING || report->kind == WARDEN_LISTENER;
	s->reported = report->kind == WARDEN_EXITED || report->kind == WARDEN_FAILED;
	s->status = report->status;
	s->failed = report->kind == WARDEN_FAILED;
	if (s->failed)
		*s->err = report->err;
}

static bool reads_reports(const struct supervisor *s)
{
	return s->streams.terminal.like.mask || s->watcher || s->outlet.gateway;
}

static bool has_started(struct supervisor *s)
{
	return reads_reports(s) ? s->starting : warden_has_report(s->channel);
}

static void kill_run(struct supervisor *s)
{
	if (!sandbox_kill(&s->sandbox, has_started(s)))
		return;
	s->asked_to_end = true;
	s->deadline.at_ns = clock_mono_ns() + SANDBOX_HANGUP_MS * 1000000ull;
}

static void end_all(void *data)
{
	kill_run(data);
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

static void stop_at_once(void)
{
	raise(SIGSTOP);
}

/* As the terminal would have done, had it not been in raw mode: the whole group
 * of ours stops, unless nobody is there who could let it go on. */
static void stop_with_group(void)
{
	sigset_t tstp;

	sigemptyset(&tstp);
	sigaddset(&tstp, SIGTSTP);
	(void)kill(0, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &tstp, NULL);
	sigprocmask(SIG_BLOCK, &tstp, NULL);
}

/* While we are stopped nobody watches: nobody may go on, whatever its group. One that
 * does even so, and makes a protected name, is dealt with in between. False: without
 * somebody to look we go on. */
static bool stop_all(struct supervisor *s, void (*stop)(void))
{
	struct guard *guard = &s->sandbox.guard;
	struct sentry sentry;

	for (unsigned tries = 0; tries < POSTS_MAX && !guard->ended;) {
		bool posted;

		warden_send_order(s->channel, WARDEN_SIGNAL_ALL, SIGSTOP);
		posted = sentry_post(&sentry, guard);
		if (posted)
			stop();
		if (!sentry_relieve(&sentry) && posted)
			return true;
		guard_catch_up(guard);
		tries += !posted;
	}
	return false;
}

static void stop_like_the_command(struct supervisor *s)
{
	streams_suspend(&s->streams);
	(void)stop_all(s, stop_with_group);
	streams_resume(&s->streams);
	warden_send_order(s->channel, WARDEN_SIGNAL_ALL, SIGCONT);
}

/* Nobody is left under the filter. Where the warden was the last one all are past their last
 * call: what need not wait until they are gone is done meanwhile. */
static void wind_down(struct supervisor *s)
{
	if (!sandbox_child_owns_all(&s->sandbox) || scratch_path(s->plan))
		return;
	guard_unwatch(&s->sandbox.guard);
	sandbox_settle(&s->sandbox);
}

static void on_listener(void *data, short revents)
{
	struct supervisor *s = data;

	/* An error alone is that the kernel was interrupted when it looked. */
	if (revents & POLLIN ? s->watcher->serve(s->watcher->data) : !(revents & POLLHUP))
		return;
	loop_remove(&s->loop, s->listener);
	if (revents & POLLIN)
		kill_run(s); /* its calls would wait for ever */
	else
		wind_down(s);
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

/* Asked for by the gateway. */
static int send_for_sockets(void *data)
{
	struct supervisor *s = data;

	return warden_send_order(s->channel, WARDEN_MORE_SOCKETS, 0);
}

/* Without the sockets that it needs nothing starts: it waits for an answer. */
static void take_sockets(struct supervisor *s, const struct warden_report *report, const int *fds,
			 size_t n)
{
	if (outlet_take(&s->outlet, &s->sandbox, report, fds, n, s->err) == 0)
		return;
	s->failed = true;
	kill_run(s);
}

static void take_news(struct supervisor *s, const struct warden_report *report, const int *fds,
		      size_t n)
{
	note_report(s, report);
	if (report->kind == WARDEN_TERMINAL)
		streams_attach(&s->streams, n > 0 ? fds[0] : -1);
	else if (report->kind == WARDEN_STOPPED)
		stop_like_the_command(s);
	else if (report->kind == WARDEN_LISTENER)
		take_listener(s, n > 0 ? fds[0] : -1);
	else if (report->kind == WARDEN_SOCKETS)
		take_sockets(s, report, fds, n);
}

/* Would the run miss one that does not come? */
static bool expects_reports(const struct supervisor *s)
{
	return (s->watcher && s->listener < 0) || (s->outlet.gateway && !s->starting);
}

static void stop_hearing(struct supervisor *s)
{
	if (!s->deaf)
		loop_remove(&s->loop, s->channel);
	s->deaf = true;
}

/* Only where the command has a terminal, is observed or reaches out; else reports can wait
 * until the end. */
static void on_report(void *data, short revents)
{
	struct supervisor *s = data;
	struct warden_report report;
	int fds[WARDEN_FDS_MAX];
	size_t n = array_len(fds);
	int r = warden_receive_fds(s->channel, &report, fds, &n);

	(void)revents;
	if (r == -EINTR)
		return;
	if (r < 0) {
		bool missed = r != -EPIPE && expects_reports(s);

		stop_hearing(s);
		s->starting |= r != -EPIPE; /* for all that we know */
		if (missed)
			kill_run(s);
		return;
	}
	take_news(s, &report, fds, n);
	if (s->starting && !expects_reports(s) && !s->streams.terminal.like.mask &&
	    !s->outlet.gateway)
		stop_hearing(s);
}

/* A shell inside may have stopped jobs of its own, which are not ours to wake. */
static void pass_continue(struct supervisor *s)
{
	bool all = s->stopped_all || !s->streams.terminal.like.interactive;

	s->stopped_all = false;
	if (has_started(s))
		warden_send_order(s->channel, all ? WARDEN_SIGNAL_ALL : WARDEN_SIGNAL, SIGCONT);
	streams_resume(&s->streams);
}

/* Has it started, or does within TRIES looks? A report of that may be there and not be read yet. */
static bool await_start(struct supervisor *s, int tries, int try_ms)
{
	struct pollfd fd = {.fd = s->channel, .events = POLLIN};

	for (int i = 0; i < tries && !has_started(s) && !s->deaf && !s->failed && !s->ended; i++) {
		if (poll(&fd, 1, try_ms) == 1 && reads_reports(s))
			on_report(s, 0);
		if (fd.revents & (POLLHUP | POLLERR))
			break;
	}
	return has_started(s);
}

static void pass_stop(struct supervisor *s)
{
	/* Orders before that would be taken for what the child waits for. */
	(void)await_start(s, START_TRIES, START_TRY_MS);
	streams_suspend(&s->streams);
	s->stopped_all = true;
	if (!stop_all(s, stop_at_once))
		pass_continue(s);
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
	else if (!await_start(s, REPORTS_MAX, 0))
		sandbox_kill_warden(&s->sandbox); /* nothing is there yet that could handle it */
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
	const uint64_t grace_ns = (sandbox_child_owns_all(&s->sandbox) ? GRACE_MS : TREE_GRACE_MS) *
				  1000000ull;
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
	loop_remove(&s->loop, s->sandbox.pidfd);
	if (s->timed_out)
		s->deadline.at_ns = clock_mono_ns() + GRACE_MS * 1000000ull;
}

/* Until the warden ends. Its report can wait: to be woken for it as well would
 * cost more than it tells. A terminal cannot: it comes with a report, which is
 * looked at before the end. */
static void watch(struct supervisor *s)
{
	streams_start(&s->streams, &s->loop, s->channel);
	carried = &s->streams;
	if (reads_reports(s))
		loop_add(&s->loop, s->channel, POLLIN, on_report, s);
	loop_add(&s->loop, s->sandbox.pidfd, POLLIN, on_end, s);
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
	guard_watch(&s->sandbox.guard, &s->loop);
	limiter_watch(&s->sandbox.limiter, &s->loop, s->sandbox.warden, on_limit, s);
	loop_run(&s->loop);
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
	limiter_judge(&s->sandbox.limiter, ret);
}

/* All that a run needs and that fails without harm: nothing was started yet. */
static int open_parts(struct supervisor *s, const struct stdio *stdio,
		      const struct gateway *gateway, struct result *ret, struct err *err)
{
	int r = streams_init(&s->streams, s->plan, stdio, err);

	if (r == 0)
		r = catch_signals(s, err);
	if (r == 0)
		r = outlet_open(&s->outlet, s->plan, gateway, &s->loop, send_for_sockets, s, err);
	return r < 0 ? r
		     : sandbox_prepare(&s->sandbox, &s->streams.inner, end_all, s, &ret->events,
				       err);
}

static int raise_walls(struct supervisor *s, struct err *err)
{
	struct warden_report report;
	int r = sandbox_raise(&s->sandbox, &s->streams.inner, &s->streams.terminal.like, &report,
			      err);

	s->channel = s->sandbox.channel;
	if (r > 0)
		note_report(s, &report);
	return r < 0 ? r : 0;
}

/* The kernel takes a cgroup down in the background, and whoever waits for something of ours
 * then waits for that, too. */
static void leave_cgroup(struct limiter *limiter)
{
	left = limiter->cgroup;
	has_left = true;
	cgroup_init(&limiter->cgroup);
}

void engine_tidy(void)
{
	if (has_left)
		cgroup_close(&left);
	has_left = false;
}

void engine_hold(bool held)
{
	if (carried)
		streams_hold(carried, held);
}

/* After the end: what was left behind, and what was reported. */
static void settle(struct supervisor *s, struct result *ret)
{
	bool was_there = s->sandbox.warden > 0;

	if (was_there) {
		sandbox_collect(&s->sandbox, &ret->usage);
		ret->duration_ms = (clock_mono_ns() - s->started_ns) / 1000000;
	}
	outlet_close(&s->outlet);
	sandbox_settle(&s->sandbox);
	if (was_there)
		take_report(s);
	carried = NULL;
	ret->output_dropped = streams_release(&s->streams);
	fd_close(s->listener);
	fd_close(s->signals);
}

int engine_run(const struct plan *plan, const struct stdio *stdio,
	       const struct attendants *attendants, struct result *ret, struct err *err)
{
	struct supervisor s = {.plan = plan,
			       .channel = -1,
			       .signals = -1,
			       .watcher = attendants->watcher,
			       .listener = -1,
			       .err = err,
			       .lifeline = stdio->lifeline,
			       .started_ns = clock_mono_ns()};
	int r;

	engine_tidy();
	if (plan->limits.site.rung == RUNG_SYSTEMD && !plan->limits.site.dirs[0])
		return scope_enter(err);
	sandbox_init(&s.sandbox, plan, false);
	s.sandbox.prelude = attendants->prelude;
	r = open_parts(&s, stdio, attendants->gateway, ret, err);
	if (r == 0)
		r = raise_walls(&s, err);
	if (r == 0)
		watch(&s);
	else
		sandbox_kill_warden(&s.sandbox);
	settle(&s, ret);
	if (r < 0 || s.failed)
		r = sandbox_explain(&s.sandbox, r, err);
	else
		judge(&s, ret);
	leave_cgroup(&s.sandbox.limiter);
	sandbox_release(&s.sandbox);
	loop_release(&s.loop);
	return r;
}
