/* SPDX-License-Identifier: MIT */
#include "api/lanes.h"

#include <errno.h>
#include <stdlib.h>

int lanes_init(struct lanes *lanes, size_t len, unsigned jobs, bool fail_fast)
{
	struct task *tasks = calloc(len ? len : 1, sizeof(*tasks));

	if (!tasks)
		return -ENOMEM;
	*lanes = (struct lanes){.tasks = tasks, .len = len, .jobs = jobs, .fail_fast = fail_fast};
	return 0;
}

void lanes_release(struct lanes *lanes)
{
	free(lanes->tasks);
	*lanes = (struct lanes){0};
}

struct lanes_count lanes_count(const struct lanes *lanes)
{
	struct lanes_count count = {0};

	for (size_t i = 0; i < lanes->len; i++) {
		const struct task *task = &lanes->tasks[i];

		switch (task->state) {
		case TASK_QUEUED:
			count.queued++;
			break;
		case TASK_RUNNING:
			count.running++;
			break;
		case TASK_ENDED:
			count.ok += task->outcome == OUTCOME_OK;
			count.failed += task->outcome != OUTCOME_OK;
			break;
		case TASK_CANCELLED:
			count.cancelled++;
			break;
		case TASK_SKIPPED:
			count.skipped++;
			break;
		}
	}
	return count;
}

bool lanes_over(const struct lanes *lanes)
{
	struct lanes_count count = lanes_count(lanes);

	return count.queued + count.running == 0;
}

bool lanes_next(const struct lanes *lanes, size_t *ret_task)
{
	if (lanes->stopping || lanes_count(lanes).running >= lanes->jobs)
		return false;
	for (size_t i = 0; i < lanes->len; i++)
		if (lanes->tasks[i].state == TASK_QUEUED) {
			*ret_task = i;
			return true;
		}
	return false;
}

void lanes_start(struct lanes *lanes, size_t task, uint64_t now_ns)
{
	lanes->tasks[task].state = TASK_RUNNING;
	lanes->tasks[task].began_ns = now_ns;
}

void lanes_stop(struct lanes *lanes)
{
	lanes->stopping = true;
	for (size_t i = 0; i < lanes->len; i++) {
		struct task *task = &lanes->tasks[i];

		if (task->state == TASK_QUEUED)
			task->state = TASK_SKIPPED;
		else if (task->state == TASK_RUNNING)
			task->ending = true;
	}
}

void lanes_end(struct lanes *lanes, size_t index, enum outcome outcome, int status, uint64_t now_ns)
{
	struct task *task = &lanes->tasks[index];
	/* It may have come to its own end while it was being told. */
	bool cancelled = task->ending && outcome != OUTCOME_OK;

	task->state = cancelled ? TASK_CANCELLED : TASK_ENDED;
	task->ending = false;
	task->outcome = outcome;
	task->status = status;
	task->ended_ns = now_ns;
	if (lanes->fail_fast && !cancelled && outcome != OUTCOME_OK)
		lanes_stop(lanes);
}

uint64_t task_elapsed_ns(const struct task *task, uint64_t now_ns)
{
	uint64_t until = task->state == TASK_RUNNING ? now_ns : task->ended_ns;

	return until > task->began_ns ? until - task->began_ns : 0;
}

/* Two outcomes of the same badness are told apart by their exit status. */
static unsigned badness(const struct task *task)
{
	switch (task->outcome) {
	case OUTCOME_OK:
		return 0;
	case OUTCOME_FAILED:
		return 1;
	case OUTCOME_SIGNALED:
	case OUTCOME_OOM:
	case OUTCOME_LIMIT:
		return 2;
	case OUTCOME_TIMEOUT:
		return 3;
	case OUTCOME_REFUSED:
	case OUTCOME_ERROR:
		break;
	}
	return task->status == EXIT_NOT_RUN ? 5 : 4;
}

int lanes_worst(const struct lanes *lanes)
{
	const struct task *worst = NULL;

	for (size_t i = 0; i < lanes->len; i++) {
		const struct task *task = &lanes->tasks[i];

		if (task->state != TASK_ENDED || task->outcome == OUTCOME_OK)
			continue;
		if (!worst || badness(task) > badness(worst) ||
		    (badness(task) == badness(worst) && task->status > worst->status))
			worst = task;
	}
	/* A limit that was met by a command which then succeeded is still no success. */
	return worst ? (worst->status ? worst->status : 1) : 0;
}

static unsigned smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned lanes_room(const struct lane_user *users, size_t n, uint64_t order, unsigned max_parallel)
{
	unsigned taken = 0;

	for (size_t i = 0; i < n && taken < max_parallel; i++) {
		const struct lane_user *user = &users[i];

		/* Numbers come from files: nothing may overflow. */
		taken += smaller(user->running, max_parallel - taken);
		if (user->order < order && user->jobs > user->running)
			taken += smaller(smaller(user->jobs - user->running, user->queued),
					 max_parallel - taken);
	}
	return max_parallel - taken;
}

bool lanes_admit(const struct lane_user *users, size_t n, size_t len, unsigned jobs,
		 unsigned max_parallel, unsigned capacity, unsigned *ret_start, unsigned *ret_free)
{
	unsigned start = smaller(lanes_room(users, n, UINT64_MAX, max_parallel), jobs);
	unsigned places = capacity;

	for (size_t i = 0; i < n; i++)
		places -= smaller(users[i].queued, places);
	if (len < start)
		start = (unsigned)len;
	if (len - start > places) {
		*ret_free = places;
		return false;
	}
	*ret_start = start;
	return true;
}
