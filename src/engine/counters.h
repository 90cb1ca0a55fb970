/* SPDX-License-Identifier: MIT */
/*
 * counters - what the kernel counts for all errands of a sandbox together, and which of
 * them that concerns.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

struct cgroup;
struct result;

struct counters {
	const struct cgroup *cgroup;
	struct loop *loop; /* NULL: nobody tells */
	int oom_event;     /* memory ran out; -1: not told */
	uint64_t oom_ns, ooms, forks_refused;
	const char *reached; /* by all together: a dimension, or NULL */
};

void counters_init(struct counters *c, const struct cgroup *cgroup);
int counters_watch(struct counters *c, struct loop *loop); /* 0 or -ENOMEM */
void counters_unwatch(struct counters *c);
/* What they say about one that began at STARTED_NS and failed. */
void counters_judge(struct counters *c, uint64_t started_ns, struct result *result);
void counters_release(struct counters *c);
