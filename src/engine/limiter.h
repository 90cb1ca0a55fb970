/* SPDX-License-Identifier: MIT */
/*
 * limiter - holds the limits of one run, and knows which was reached.
 *
 * With a cgroup the kernel counts: what is left to do here is to look at the CPU
 * time now and then, and to end the run when memory ran out. Without one the
 * tree is sampled.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "engine/cgroup.h"
#include "base/loop.h"

struct err;
struct limits;
struct result;

/* Called when the run is to be ended: at once, or as on a timeout. */
typedef void limiter_end_fn(void *data, bool at_once);

struct limiter {
	const struct limits *limits;
	struct cgroup cgroup;
	bool counts_pids;  /* by samples: nobody else does */
	struct loop *loop; /* NULL: not watched */
	struct loop_timer timer;
	int oom_event;
	pid_t top;
	unsigned cpus;
	uint64_t memory_seen, pids_seen; /* by samples */
	const char *reached;             /* a dimension, or NULL */
	limiter_end_fn *end;
	void *data;
};

void limiter_init(struct limiter *l);
/* LIMITS outlive it. */
int limiter_open(struct limiter *l, const struct limits *limits, struct err *err);
/* Watch the tree below TOP, which has started. */
void limiter_watch(struct limiter *l, struct loop *loop, pid_t top, limiter_end_fn *end,
		   void *data);
void limiter_unwatch(struct limiter *l); /* as long as the loop goes on; if it is watched */
/* After its end: usage, and an outcome of its own where a limit was reached. */
void limiter_judge(const struct limiter *l, struct result *result);
void limiter_close(struct limiter *l);
