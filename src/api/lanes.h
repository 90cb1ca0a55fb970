/* SPDX-License-Identifier: MIT */
/*
 * lanes - which of several commands runs when, and what they amount to.
 *
 * Pure: the caller starts and ends processes and tells the time. Two bounds hold:
 * how many of its own commands one check runs at once, and how many run at once in
 * the workspace, whoever asked for them.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "result/result.h"

enum task_state {
	TASK_QUEUED,
	TASK_RUNNING,
	TASK_ENDED,     /* by itself */
	TASK_CANCELLED, /* by us */
	TASK_SKIPPED,   /* never started, since the check was to stop */
};

struct task {
	enum task_state state;
	bool ending; /* running, and told to end */
	uint64_t began_ns, ended_ns;
	enum outcome outcome; /* of one that has ended */
	int status;           /* its exit status */
};

struct lanes {
	struct task *tasks;
	size_t len;
	unsigned jobs; /* at most so many at once */
	bool fail_fast;
	bool stopping; /* nothing more is started */
};

struct lanes_count {
	size_t queued, running, ok, failed, cancelled, skipped;
};

int lanes_init(struct lanes *lanes, size_t len, unsigned jobs, bool fail_fast); /* or -ENOMEM */
void lanes_release(struct lanes *lanes);

/* Which one is to be started now? In the order in which they were named. */
bool lanes_next(const struct lanes *lanes, size_t *ret_task);
void lanes_start(struct lanes *lanes, size_t task, uint64_t now_ns);
/* It has ended. With fail_fast the first that is not ok stops the others. */
void lanes_end(struct lanes *lanes, size_t task, enum outcome outcome, int status, uint64_t now_ns);
/* Start nothing more; what runs is `ending`. */
void lanes_stop(struct lanes *lanes);

struct lanes_count lanes_count(const struct lanes *lanes);
bool lanes_over(const struct lanes *lanes);
uint64_t task_elapsed_ns(const struct task *task, uint64_t now_ns);

/* The exit status of the worst, 0 when all that ended by themselves are ok. Worst
 * first: what pale could not run (125, 127, 126), timeouts (124), signals and limits
 * (128+N), other failures by their number. */
int lanes_worst(const struct lanes *lanes);

/* One check of the workspace, as the others see it. */
struct lane_user {
	uint64_t order; /* who came first has the smaller */
	unsigned running, queued;
	unsigned jobs;
};

/* How many more may a check of this ORDER start? Free lanes go to those before it first,
 * as far as they could use them. USERS may hold the check itself. */
unsigned lanes_room(const struct lane_user *users, size_t n, uint64_t order, unsigned max_parallel);
/* May a newcomer with LEN commands come in? Those that cannot start at once must fit the
 * queue, all of them. True: *ret_start of them may start now. Else *ret_free tells how many
 * places the queue has left. */
bool lanes_admit(const struct lane_user *users, size_t n, size_t len, unsigned jobs,
		 unsigned max_parallel, unsigned capacity, unsigned *ret_start, unsigned *ret_free);
