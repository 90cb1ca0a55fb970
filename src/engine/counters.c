/* SPDX-License-Identifier: MIT */
#include "engine/counters.h"

#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "engine/cgroup.h"
#include "result/result.h"

void counters_init(struct counters *c, const struct cgroup *cgroup)
{
	*c = (struct counters){.cgroup = cgroup, .oom_event = -1};
}

static void on_oom(void *data, short revents)
{
	struct counters *c = data;
	uint64_t times;

	(void)revents;
	if (read(c->oom_event, &times, sizeof(times)) == (ssize_t)sizeof(times))
		c->oom_ns = clock_mono_ns();
}

int counters_watch(struct counters *c, struct loop *loop)
{
	int r;

	c->oom_event = cgroup_watch_oom(c->cgroup);
	if (c->oom_event < 0)
		return 0;
	r = loop_add(loop, c->oom_event, POLLIN, on_oom, c);
	if (r == 0)
		c->loop = loop;
	return r;
}

void counters_unwatch(struct counters *c)
{
	if (c->loop)
		loop_remove(c->loop, c->oom_event);
	c->loop = NULL;
}

void counters_judge(struct counters *c, uint64_t started_ns, struct result *result)
{
	uint64_t ooms, refused;

	if (result->outcome != OUTCOME_FAILED && result->outcome != OUTCOME_SIGNALED)
		return;
	ooms = cgroup_ooms(c->cgroup);
	refused = cgroup_forks_refused(c->cgroup);
	if (c->reached || (ooms > c->ooms && (c->oom_event < 0 || c->oom_ns >= started_ns))) {
		result->limit = c->reached ? c->reached : "memory";
		result->outcome = str_eq(result->limit, "memory") ? OUTCOME_OOM : OUTCOME_LIMIT;
	} else if (refused > c->forks_refused) {
		result->limit = "pids";
		result->outcome = OUTCOME_LIMIT;
	}
	c->ooms = ooms;
	c->forks_refused = refused;
}

void counters_release(struct counters *c)
{
	counters_unwatch(c);
	c->oom_event = fd_close(c->oom_event);
}
