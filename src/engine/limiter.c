/* SPDX-License-Identifier: MIT */
#include "engine/limiter.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "engine/sample.h"
#include "plan/plan.h"
#include "result/result.h"

#define MS 1000000ull
enum { SAMPLE_MS = 20, SHORTEST_MS = 10, LONGEST_MS = 60000 };

void limiter_init(struct limiter *l)
{
	*l = (struct limiter){.oom_event = -1, .timer = {.at_ns = LOOP_NEVER}};
	cgroup_init(&l->cgroup);
}

int limiter_open(struct limiter *l, const struct limits *limits, struct err *err)
{
	l->limits = limits;
	return cgroup_open(&l->cgroup, limits, err);
}

static void reach(struct limiter *l, const char *dimension, bool at_once)
{
	if (l->reached)
		return;
	l->reached = dimension;
	l->end(l->data, at_once);
}

static void on_oom(void *data, short revents)
{
	(void)revents;
	reach(data, "memory", true);
}

/* When all CPUs are kept busy, the limit is reached no sooner. */
static uint64_t next_look(const struct limiter *l, uint64_t used_ms)
{
	uint64_t ms = (l->limits->cpu_ms - used_ms) / l->cpus;

	if (ms < SHORTEST_MS)
		ms = SHORTEST_MS;
	return ms > LONGEST_MS ? LONGEST_MS : ms;
}

/* Is there something that a sample may find at any time? */
static bool is_sampled(const struct limiter *l)
{
	return l->cgroup.rung == RUNG_WATCHDOG &&
	       (l->limits->memory != UINT64_MAX ||
		(l->counts_pids && l->limits->pids != UINT64_MAX));
}

/* Beyond counting: what is limited at all? */
static const char *first_limit(const struct limits *limits)
{
	if (limits->memory != UINT64_MAX)
		return "memory";
	return limits->cpu_ms != UINT64_MAX ? "cpu" : "pids";
}

static uint64_t look_at_samples(struct limiter *l, uint64_t *ret_cpu_ms)
{
	struct sample sample;

	if (sample_tree(l->top, &sample) < 0) {
		reach(l, first_limit(l->limits), true);
		return SAMPLE_MS;
	}
	if (sample.memory > l->memory_seen)
		l->memory_seen = sample.memory;
	if (sample.pids > l->pids_seen)
		l->pids_seen = sample.pids;
	if (sample.memory > l->limits->memory)
		reach(l, "memory", true);
	if (l->counts_pids && sample.pids > l->limits->pids)
		reach(l, "pids", true);
	*ret_cpu_ms = sample.cpu_ms;
	return is_sampled(l) ? SAMPLE_MS : LONGEST_MS;
}

static void on_look(void *data, short revents)
{
	struct limiter *l = data;
	uint64_t used = 0, wait = LONGEST_MS;

	(void)revents;
	if (cgroup_counts_cpu(&l->cgroup))
		used = cgroup_cpu_ms(&l->cgroup);
	else
		wait = look_at_samples(l, &used);
	if (l->limits->cpu_ms != UINT64_MAX && used >= l->limits->cpu_ms)
		reach(l, "cpu", false);
	else if (l->limits->cpu_ms != UINT64_MAX && next_look(l, used) < wait)
		wait = next_look(l, used);
	if (!l->reached)
		l->timer.at_ns = clock_mono_ns() + wait * MS;
}

void limiter_watch(struct limiter *l, struct loop *loop, pid_t top, limiter_end_fn *end, void *data)
{
	bool sampled = is_sampled(l);
	long cpus;

	l->loop = loop;
	l->top = top;
	l->end = end;
	l->data = data;
	if (l->limits->memory != UINT64_MAX)
		l->oom_event = cgroup_watch_oom(&l->cgroup);
	if (l->oom_event >= 0)
		loop_add(loop, l->oom_event, POLLIN, on_oom, l);
	if (!sampled && l->limits->cpu_ms == UINT64_MAX)
		return;
	/* Which the plan has said. */
	if (l->limits->site.is_blind && !cgroup_counts_cpu(&l->cgroup))
		return;
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	l->cpus = cpus > 0 ? (unsigned)cpus : 1;
	l->timer = (struct loop_timer){.at_ns = clock_mono_ns() +
						(sampled ? SAMPLE_MS : next_look(l, 0)) * MS,
				       .fn = on_look,
				       .data = l};
	loop_add_timer(loop, &l->timer);
}

void limiter_unwatch(struct limiter *l)
{
	if (l->loop && l->oom_event >= 0)
		loop_remove(l->loop, l->oom_event);
	if (l->loop && l->timer.fn)
		loop_remove_timer(l->loop, &l->timer);
	l->timer.fn = NULL;
	l->loop = NULL;
}

void limiter_judge(const struct limiter *l, struct result *result)
{
	const char *reached = l->reached;

	if (l->memory_seen > result->usage.memory_peak || l->memory_seen > 0)
		result->usage.memory_peak = l->memory_seen;
	if (l->pids_seen > l->limits->own_pids)
		result->usage.pids_peak = l->pids_seen - l->limits->own_pids;
	cgroup_usage(&l->cgroup, l->limits->own_pids, &result->usage);
	/* Without a limit only somebody above can have run out of memory. */
	if (!reached && (result->outcome != OUTCOME_OK || l->limits->memory != UINT64_MAX) &&
	    cgroup_ooms(&l->cgroup) > 0)
		reached = "memory";
	/* A refused fork that the command coped with is no failure. */
	if (!reached && result->outcome != OUTCOME_OK && cgroup_forks_refused(&l->cgroup) > 0)
		reached = "pids";
	if (!reached && result->signal == SIGXFSZ)
		reached = "disk";
	if (!reached || result->outcome == OUTCOME_TIMEOUT)
		return;
	result->limit = reached;
	result->outcome = str_eq(reached, "memory") ? OUTCOME_OOM : OUTCOME_LIMIT;
}

void limiter_close(struct limiter *l)
{
	l->oom_event = fd_close(l->oom_event);
	cgroup_close(&l->cgroup);
}
