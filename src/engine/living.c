/* SPDX-License-Identifier: MIT */
#include "engine/living.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "engine/streams.h"
#include "plan/rung.h"
#include "result/result.h"
#include "warden/errand.h"
#include "warden/protocol.h"

#define MS 1000000ull
enum {
	GRACE_MS = 2000,   /* between SIGTERM and SIGKILL */
	SILENCE_MS = 5000, /* after which a warden is frozen: in the launch of somebody */
};

static void on_deadline(void *data, short revents)
{
	struct living *l = data;

	(void)revents;
	if (l->unheard) {
		l->deadline.at_ns = LOOP_NEVER;
		l->silent(l->data);
		return;
	}
	l->timed_out |= !l->asked_to_end;
	living_end(l);
}

static void on_limit(void *data, bool at_once)
{
	struct living *l = data;

	if (at_once)
		l->asked_to_end = true;
	living_end(l);
}

int living_check(const struct errand *e, const struct plan *plan, struct err *err)
{
	unsigned taken = e->pty ? e->pty->mask : 0;
	int r = 0;

	for (int i = 0; i < 3 && r == 0; i++)
		if (!(taken & 1u << i))
			r = streams_check(plan, i, e->fds[i], err);
	return r < 0 || e->notes < 0 ? r : streams_check(plan, 3, e->notes, err);
}

struct living *living_new(const struct errand *errand, const struct watcher *watcher, void *own,
			  struct loop *loop)
{
	struct living *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->id = l->inside = errand->id;
	l->own = own;
	l->loop = loop;
	l->watched = watcher;
	if (watcher)
		l->watcher = *watcher;
	l->listener = -1;
	l->started_ns = clock_mono_ns();
	l->limits = (struct limits){
		.memory = errand->memory, .pids = errand->pids, .cpu_ms = errand->cpu_ms};
	if (l->limits.pids != UINT64_MAX)
		l->limits.pids += l->limits.own_pids = 1; /* its holder */
	if (errand->memory != UINT64_MAX || errand->cpu_ms != UINT64_MAX ||
	    errand->pids != UINT64_MAX)
		l->limits.site.is_blind = !rung_sees_processes();
	limiter_init(&l->limiter);
	l->limiter.limits = &l->limits;
	l->limiter.counts_pids = true;
	l->deadline = (struct loop_timer){
		.at_ns = errand->timeout_ms >= UINT64_MAX / MS - l->started_ns / MS
				 ? LOOP_NEVER
				 : l->started_ns + errand->timeout_ms * MS,
		.fn = on_deadline,
		.data = l};
	loop_add_timer(loop, &l->deadline);
	return l;
}

void living_started(struct living *l, pid_t pid)
{
	if (!l->limiter.loop)
		limiter_watch(&l->limiter, l->loop, pid, on_limit, l);
}

void living_end(struct living *l)
{
	if (l->over)
		return;
	l->signal_kin(l->data, l->inside, l->asked_to_end ? SIGKILL : SIGTERM);
	if (!l->unheard)
		l->deadline.at_ns = clock_mono_ns() +
				    (l->asked_to_end ? SILENCE_MS : GRACE_MS) * MS;
	l->unheard |= l->asked_to_end;
	l->asked_to_end = true;
}

void living_heard(struct living *l)
{
	l->unheard = false;
	l->deadline.at_ns = LOOP_NEVER;
}

bool living_is_silent(const struct living *l)
{
	struct pollfd fd = {.fd = l->listener, .events = POLLIN};

	return !l->listens ||
	       (poll(&fd, 1, 0) == 1 && fd.revents & POLLHUP && !(fd.revents & POLLIN));
}

void living_judge(struct living *l, const struct warden_report *report, struct result *ret)
{
	int status = report->status;

	ret->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	ret->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	if (l->timed_out)
		ret->outcome = OUTCOME_TIMEOUT;
	else if (ret->signal)
		ret->outcome = OUTCOME_SIGNALED;
	else
		ret->outcome = ret->exit_code == 0 ? OUTCOME_OK : OUTCOME_FAILED;
	ret->duration_ms = (clock_mono_ns() - l->started_ns) / MS;
	ret->usage = (struct usage){.memory_peak = report->memory,
				    .cpu_ms = report->cpu_ms,
				    .pids_peak = USAGE_UNKNOWN,
				    .written = report->written};
	limiter_judge(&l->limiter, ret);
}

void living_rest(struct living *l)
{
	limiter_unwatch(&l->limiter);
	if (l->deadline.fn)
		loop_remove_timer(l->loop, &l->deadline);
	l->deadline.fn = NULL;
}

struct living *living_free(struct living *l)
{
	if (!l)
		return NULL;
	living_rest(l);
	limiter_close(&l->limiter);
	events_release(&l->events);
	fd_close(l->listener);
	free(l);
	return NULL;
}
