/* SPDX-License-Identifier: MIT */
#include "engine/stand.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "engine/counters.h"
#include "engine/living.h"
#include "engine/outbox.h"
#include "engine/outlet.h"
#include "engine/parked.h"
#include "engine/reserve.h"
#include "engine/sandbox.h"
#include "engine/scope.h"
#include "result/result.h"
#include "warden/errand.h"
#include "warden/protocol.h"

enum { REPORTS_MAX = 64 }; /* in one turn: others want theirs, too */

struct stand {
	struct sandbox sandbox;
	struct loop *loop;
	struct stand_ear ear;
	struct living *first;
	size_t living; /* that are not over */
	struct outbox outbox;
	struct parked parked;
	struct reserve reserve;
	struct loop_timer hangup; /* those inside had their time */
	struct counters counters;
	struct outlet outlet;
	struct events fresh; /* of the guard, that nobody was told of */
	struct events kept;  /* … because nobody lived */
	uint64_t started_ns;
	bool watched; /* part of the loop */
	bool gone;
	struct usage usage; /* once it is */
};

/* -- Orders --------------------------------------------------------------- */

static int send_parts(struct stand *s, const struct iovec *parts, size_t n_parts, const int *fds,
		      size_t n_fds)
{
	int r = s->gone ? -EPIPE
			: outbox_send(&s->outbox, s->sandbox.channel, parts, n_parts, fds, n_fds);

	if (r > 0)
		loop_set_events(s->loop, s->sandbox.channel, POLLIN | POLLOUT);
	return r > 0 ? 0 : r;
}

static void send_order(struct stand *s, enum warden_order_kind kind, uint32_t id, int value)
{
	struct warden_order order = {.kind = kind, .value = value, .id = id};
	struct iovec part = {&order, sizeof(order)};

	/* Whoever is gone needs no orders. */
	(void)send_parts(s, &part, 1, NULL, 0);
}

static int send_for_sockets(void *data)
{
	struct warden_order order = {.kind = WARDEN_MORE_SOCKETS};

	return send_parts(data, &(struct iovec){&order, sizeof(order)}, 1, NULL, 0);
}

static void signal_kin(void *data, uint32_t id, int sig)
{
	send_order(data, WARDEN_SIGNAL_KIN, id, sig);
}

static struct living *find(const struct stand *s, uint32_t id)
{
	for (struct living *l = s->first; l; l = l->next)
		if ((l->id == id || l->inside == id) && !l->over)
			return l;
	return NULL;
}

static void forget(struct stand *s, struct living *l)
{
	struct living **at = &s->first;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	living_free(l);
}

/* -- Events, for whoever lives while they happen -------------------------- */

static void hand_out_events(struct stand *s)
{
	if (s->fresh.len == 0 && s->fresh.dropped == 0)
		return;
	for (struct living *l = s->first; l; l = l->next)
		if (!l->over)
			events_append(&l->events, &s->fresh);
	if (s->living == 0 && s->ear.tampered)
		s->ear.tampered(s->ear.data, &s->fresh);
	else if (s->living == 0)
		events_append(&s->kept, &s->fresh);
	events_release(&s->fresh);
}

/* Somebody who was left behind: no result will ever tell. */
static void on_news(void *data)
{
	struct stand *s = data;

	if (s->living == 0)
		hand_out_events(s);
}

/* -- The end of one ------------------------------------------------------- */

static void stop_listening(struct stand *s, struct living *l)
{
	if (l->listens)
		loop_remove(s->loop, l->listener);
	l->listens = false;
}

/* What it left behind may still make calls that wait for an answer. */
static void leave(struct stand *s, struct living *l)
{
	living_rest(l);
	l->over = true;
	s->living--;
}

static void release_watched(struct stand *s, struct living *l)
{
	struct watcher watcher = l->watcher;
	bool watched = l->watched;

	stop_listening(s, l);
	parked_add(&s->parked, l->listener);
	l->listener = -1;
	forget(s, l);
	if (watched && watcher.done)
		watcher.done(watcher.data);
}

static int send_for_spare(void *data, const struct warden_order *order, const int *sock)
{
	return send_parts(data, &(struct iovec){(void *)order, sizeof(*order)}, 1, sock, 1);
}

/* REPORT: EXITED or FAILED. */
static void tell_end(struct stand *s, struct living *l, const struct warden_report *report)
{
	bool failed = report->kind == WARDEN_FAILED;
	struct result result = {0};
	void *own = l->own;

	if (!failed) {
		/* Its last calls are answered before their number is told. */
		if (l->listens)
			(void)l->watcher.serve(l->watcher.data);
		living_judge(l, report, &result);
		counters_judge(&s->counters, l->started_ns, &result);
	}
	hand_out_events(s);
	result.events = l->events;
	l->events = (struct events){0};
	leave(s, l);
	s->ear.ended(s->ear.data, own, &result, failed ? &report->err : NULL);
	if (failed || living_is_silent(l))
		release_watched(s, l);
	reserve_fill(&s->reserve, send_for_spare, s);
}

/* -- Reports -------------------------------------------------------------- */

static void kill_sandbox(struct stand *s);

static void on_listener(void *data, short revents)
{
	struct living *l = data;
	struct stand *s = l->data;

	if (revents & POLLIN ? l->watcher.serve(l->watcher.data) : !(revents & POLLHUP))
		return;
	stop_listening(s, l);
	if (revents & POLLIN) {
		if (!l->over)
			signal_kin(s, l->inside, SIGKILL); /* its calls would wait for ever */
		l->listener = fd_close(l->listener);       /* now they fail */
	}
	if (l->over)
		release_watched(s, l);
}

static void take_listener(struct stand *s, struct living *l, int listener)
{
	/* Calls that nobody ever answers: better none. */
	if (listener < 0 || !l->watched || l->listener >= 0 ||
	    loop_add(s->loop, listener, POLLIN, on_listener, l) < 0) {
		fd_close(listener);
		signal_kin(s, l->inside, SIGKILL);
		return;
	}
	l->listener = listener;
	l->listens = true;
	l->watcher.begin(l->watcher.data, listener);
}

static void take_report(struct stand *s, const struct warden_report *report, int fd, pid_t sender)
{
	struct living *l = find(s, report->id);

	if (report->kind == WARDEN_QUIET && s->living == 0)
		guard_rest(&s->sandbox.guard);
	if (reserve_take(&s->reserve, report, fd, sender, s->sandbox.warden))
		return;
	if (!l) {
		fd_close(fd);
		return;
	}
	switch ((enum warden_report_kind)report->kind) {
	case WARDEN_LISTENER:
		take_listener(s, l, fd);
		living_started(l, sender);
		return;
	case WARDEN_STARTING:
		living_started(l, sender);
		break;
	case WARDEN_TERMINAL:
		s->ear.terminal(s->ear.data, l->own, fd);
		return;
	case WARDEN_STOPPED:
		if (!s->sandbox.guard.stopped)
			s->ear.stopped(s->ear.data, l->own);
		break;
	case WARDEN_EXITED:
	case WARDEN_FAILED:
		tell_end(s, l, report);
		break;
	case WARDEN_HEARD:
		living_heard(l);
		break;
	case WARDEN_QUIET:
	case WARDEN_MOUNTED:
	case WARDEN_SOCKETS:
		break;
	}
	fd_close(fd);
}

/* False when none waits, or none will come any more. */
static bool take_next(struct stand *s)
{
	struct warden_report report;
	pid_t sender;
	int fds[WARDEN_FDS_MAX];
	size_t n = 0;
	int r = warden_receive_now(s->sandbox.channel, &report, fds, &n, &sender);

	if (r == 0 && report.kind == WARDEN_SOCKETS)
		(void)outlet_take(&s->outlet, &s->sandbox, &report, fds, n, &(struct err){0});
	else if (r == 0)
		take_report(s, &report, n > 0 ? fds[0] : -1, sender);
	/* Without a descriptor to spare a listener is lost, and its calls hang. */
	if (r == -EBADMSG || r == -EMFILE || r == -ENFILE)
		kill_sandbox(s);
	return r == 0;
}

static void on_channel(void *data, short revents)
{
	struct stand *s = data;

	if (revents & POLLOUT && outbox_flush(&s->outbox, s->sandbox.channel))
		loop_set_events(s->loop, s->sandbox.channel, POLLIN);
	for (int i = 0; i < REPORTS_MAX && take_next(s); i++)
		;
	/* The rest is told by the end of our child. */
	if (revents & POLLHUP && !(revents & POLLIN))
		loop_set_events(s->loop, s->sandbox.channel, 0);
}

/* -- The end of all ------------------------------------------------------- */

static void kill_sandbox(struct stand *s)
{
	if (!s->gone && sandbox_kill(&s->sandbox, true))
		s->hangup.at_ns = clock_mono_ns() + SANDBOX_HANGUP_MS * 1000000ull;
}

static void on_hangup(void *data, short revents)
{
	(void)revents;
	kill_sandbox(data);
}

static void end_all(void *data)
{
	kill_sandbox(data);
}

static void on_limit(void *data, bool at_once)
{
	struct stand *s = data;

	(void)at_once;
	s->counters.reached = s->sandbox.limiter.reached;
	kill_sandbox(s);
}

static void unwatch(struct stand *s)
{
	if (!s->watched)
		return;
	s->watched = false;
	loop_remove(s->loop, s->sandbox.channel);
	loop_remove(s->loop, s->sandbox.pidfd);
	loop_remove_timer(s->loop, &s->hangup);
	counters_unwatch(&s->counters);
	guard_unwatch(&s->sandbox.guard);
	limiter_unwatch(&s->sandbox.limiter);
}

/* Our child has ended: take along what is left of it. */
static void settle(struct stand *s)
{
	s->gone = true;
	sandbox_collect(&s->sandbox, &s->usage);
	outlet_close(&s->outlet);
	sandbox_settle(&s->sandbox);
}

static void on_end(void *data, short revents)
{
	struct warden_report killed = {.kind = WARDEN_EXITED, .status = SIGKILL};
	struct stand *s = data;

	(void)revents;
	while (take_next(s))
		;
	unwatch(s);
	settle(s);
	for (struct living *l = s->first, *next; l; l = next) {
		next = l->next;
		if (!l->over)
			tell_end(s, l, &killed);
	}
	hand_out_events(s);
	s->ear.gone(s->ear.data);
}

/* -- Open and close ------------------------------------------------------- */

static int watch(struct stand *s, struct err *err)
{
	struct sandbox *b = &s->sandbox;
	int r = warden_expect_senders(b->channel);

	if (r < 0)
		return err_sys(err, r, "prepare the warden's channel");
	parked_make_room();
	s->hangup = (struct loop_timer){.at_ns = LOOP_NEVER, .fn = on_hangup, .data = s};
	r = loop_add(s->loop, b->channel, POLLIN, on_channel, s);
	if (r == 0)
		r = loop_add(s->loop, b->pidfd, POLLIN, on_end, s);
	if (r == 0)
		r = counters_watch(&s->counters, s->loop);
	if (r < 0)
		return err_oom(err);
	loop_add_timer(s->loop, &s->hangup);
	guard_watch(&b->guard, s->loop);
	guard_rest(&b->guard);
	if (b->limiter.cgroup.rung == RUNG_WATCHDOG)
		limiter_watch(&b->limiter, s->loop, b->warden, on_limit, s);
	s->watched = true;
	return 0;
}

static int await_warden(struct stand *s, struct err *err)
{
	struct warden_report report;
	int fds[WARDEN_FDS_MAX], r;
	size_t n;

	do {
		n = array_len(fds);
		r = warden_receive_fds(s->sandbox.channel, &report, fds, &n);
		if (r == 0 && report.kind == WARDEN_SOCKETS)
			r = outlet_take(&s->outlet, &s->sandbox, &report, fds, n, err);
	} while (r == -EINTR || (r == 0 && report.kind == WARDEN_SOCKETS));
	if (r == 0 && report.kind == WARDEN_STARTING)
		return 0;
	if (r == 0 && report.kind == WARDEN_FAILED)
		*err = report.err;
	return -EPIPE;
}

static int raise_walls(struct stand *s, struct err *err)
{
	_cleanup_(fd_closep) int null = fd_open("/dev/null", O_RDWR);
	const struct stdio inner = {.fd = {null, null, null}};
	const struct pty none = {0};
	struct warden_report report = {0};
	int r;

	if (null < 0)
		return err_sys(err, -errno, "open /dev/null");
	r = sandbox_prepare(&s->sandbox, &inner, end_all, s, &s->fresh, err);
	s->sandbox.power.noted = on_news;
	if (r == 0)
		r = sandbox_raise(&s->sandbox, &inner, &none, &report, err);
	if (r > 0) {
		*err = report.err;
		return 1;
	}
	if (r < 0 || await_warden(s, err) < 0)
		return r < 0 ? r : 1;
	bwrap_release(&s->sandbox.bwrap); /* descriptors of all that was mounted */
	return 0;
}

int stand_open(const struct plan *plan, struct loop *loop, const struct stand_ear *ear,
	       const struct gateway *gateway, struct stand **ret, struct err *err)
{
	struct stand *s;
	int r;

	if (plan->limits.site.rung == RUNG_SYSTEMD && !plan->limits.site.dirs[0])
		return scope_enter(err);
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_oom(err);
	s->loop = loop;
	s->ear = *ear;
	s->started_ns = clock_mono_ns();
	sandbox_init(&s->sandbox, plan, true);
	counters_init(&s->counters, &s->sandbox.limiter.cgroup);
	parked_init(&s->parked, loop);
	reserve_init(&s->reserve, plan, loop, &s->parked);
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	r = outlet_open(&s->outlet, plan, gateway, loop, send_for_sockets, s, err);
	if (r == 0)
		r = raise_walls(s, err);
	if (r == 0)
		r = watch(s, err);
	if (r == 0) {
		*ret = s;
		return 0;
	}
	sandbox_kill_warden(&s->sandbox);
	if (s->sandbox.warden > 0)
		sandbox_collect(&s->sandbox, &s->usage);
	outlet_close(&s->outlet);
	sandbox_settle(&s->sandbox);
	r = sandbox_explain(&s->sandbox, r > 0 ? 0 : r, err);
	reserve_release(&s->reserve);
	parked_release(&s->parked);
	sandbox_release(&s->sandbox);
	events_release(&s->fresh);
	counters_release(&s->counters);
	free(s);
	return r;
}

static void end_at_once(struct stand *s)
{
	struct pollfd end = {.fd = s->sandbox.pidfd, .events = POLLIN};

	while (sandbox_kill(&s->sandbox, true) && poll(&end, 1, SANDBOX_HANGUP_MS) == 0)
		;
	settle(s);
}

struct stand *stand_close(struct stand *s, void (*forget_own)(void *own), struct result *ret)
{
	if (!s)
		return NULL;
	s->ear.tampered = NULL;
	unwatch(s);
	if (!s->gone)
		end_at_once(s);
	while (s->first) {
		void *own = s->first->over ? NULL : s->first->own;

		if (own && forget_own)
			forget_own(own);
		release_watched(s, s->first);
	}
	hand_out_events(s);
	if (ret) {
		ret->duration_ms = (clock_mono_ns() - s->started_ns) / 1000000;
		ret->usage = s->usage;
		limiter_judge(&s->sandbox.limiter, ret);
		events_append(&ret->events, &s->kept);
		events_append(&ret->events, &s->fresh);
	}
	events_release(&s->kept);
	events_release(&s->fresh);
	outbox_release(&s->outbox);
	counters_release(&s->counters);
	reserve_release(&s->reserve);
	parked_release(&s->parked);
	sandbox_release(&s->sandbox);
	free(s);
	return NULL;
}

/* -- Errands -------------------------------------------------------------- */

static int check_errand(const struct stand *s, const struct errand *e, struct err *err)
{
	if (s->gone)
		return err_set(err, ERR_SYSTEM, -EPIPE, "the sandbox has ended");
	if (e->id == 0 || e->id & WARDEN_SPARE_ID || find(s, e->id))
		return err_set(err, ERR_SYSTEM, -EEXIST, "a command with this id is there");
	if (s->living == ERRANDS_MAX)
		return err_set(err, ERR_SYSTEM, -EAGAIN, "%d commands run in this sandbox already",
			       ERRANDS_MAX);
	return living_check(e, s->sandbox.plan, err);
}

int stand_start(struct stand *s, const struct errand *errand, const struct watcher *watcher,
		void *own, struct err *err)
{
	struct errand_packet packet;
	struct iovec parts[2];
	struct living *l;
	struct given spare;
	int r = check_errand(s, errand, err);
	size_t n;

	if (r == 0)
		r = errand_pack(errand, &packet, err);
	if (r < 0)
		return r;
	hand_out_events(s);
	l = living_new(errand, watcher, own, s->loop);
	n = errand_packet_parts(&packet, parts);
	reserve_offer(&s->reserve, errand, parts, n, packet.fds, packet.fds_len);
	r = !l ? err_oom(err) : errand->begins ? errand->begins(errand->data, err) : 0;
	if (r == 0 && s->living == 0)
		r = guard_renew(&s->sandbox.guard, err);
	spare = reserve_give(&s->reserve, r == 0);
	if (r == 0 && !spare.id && send_parts(s, parts, n, packet.fds, packet.fds_len) < 0)
		r = err_sys(err, -EPIPE, "pass the command to the sandbox");
	errand_packet_release(&packet);
	if (r < 0) {
		living_free(l);
		return r;
	}
	l->data = s;
	l->signal_kin = signal_kin;
	l->silent = end_all;
	l->next = s->first;
	s->first = l;
	s->living++;
	if (spare.id) {
		l->inside = spare.id;
		if (spare.listener >= 0)
			take_listener(s, l, spare.listener);
		living_started(l, spare.pid);
	}
	return 0;
}

void stand_signal(struct stand *s, uint32_t id, int sig)
{
	const struct living *l = find(s, id);

	if (l)
		send_order(s, WARDEN_SIGNAL, l->inside, sig);
}

void stand_end(struct stand *s, uint32_t id)
{
	struct living *l = find(s, id);

	if (l && !l->asked_to_end)
		living_end(l);
}

pid_t stand_pid(const struct stand *s)
{
	return s->sandbox.warden;
}
