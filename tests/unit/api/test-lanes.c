/* SPDX-License-Identifier: MIT */
/* Which command runs when, who gets a free lane, and which of the outcomes is the worst. */
#include "api/lanes.h"

#include "base/cleanup.h"
#include "tap.h"

#define S 1000000000ull

static int next(const struct lanes *lanes)
{
	size_t i;

	return lanes_next(lanes, &i) ? (int)i : -1;
}

static void check_order(void)
{
	_cleanup_(lanes_release) struct lanes lanes = {0};
	struct lanes_count count;

	tap_eq_int(lanes_init(&lanes, 4, 2, false), 0, "four commands, two at once");
	tap_eq_int(next(&lanes), 0, "the first comes first");
	lanes_start(&lanes, 0, 10 * S);
	tap_eq_int(next(&lanes), 1, "then the second");
	lanes_start(&lanes, 1, 11 * S);
	tap_eq_int(next(&lanes), -1, "two run: no more");
	count = lanes_count(&lanes);
	tap_ok(count.running == 2 && count.queued == 2, "two run, two wait");
	tap_eq_int((long long)task_elapsed_ns(&lanes.tasks[0], 13 * S), 3 * S,
		   "the first runs for 3 s");
	lanes_end(&lanes, 1, OUTCOME_FAILED, 7, 15 * S);
	tap_eq_int(next(&lanes), 2, "a lane is free: the third, though one failed");
	tap_eq_int((long long)task_elapsed_ns(&lanes.tasks[1], 99 * S), 4 * S,
		   "what has ended grows no older");
	lanes_start(&lanes, 2, 15 * S);
	lanes_end(&lanes, 0, OUTCOME_OK, 0, 16 * S);
	lanes_start(&lanes, 3, 16 * S);
	tap_ok(!lanes_over(&lanes), "it is not over");
	lanes_end(&lanes, 2, OUTCOME_OK, 0, 17 * S);
	lanes_end(&lanes, 3, OUTCOME_OK, 0, 18 * S);
	count = lanes_count(&lanes);
	tap_ok(lanes_over(&lanes) && count.ok == 3 && count.failed == 1, "now it is");
	tap_eq_int(lanes_worst(&lanes), 7, "the status of the one that failed");
}

static void check_fail_fast(void)
{
	_cleanup_(lanes_release) struct lanes lanes = {0};
	struct lanes_count count;

	lanes_init(&lanes, 5, 3, true);
	for (size_t i = 0; i < 3; i++)
		lanes_start(&lanes, i, S);
	lanes_end(&lanes, 2, OUTCOME_OK, 0, 2 * S);
	tap_ok(!lanes.stopping, "one that is ok stops nobody");
	lanes_start(&lanes, 3, 2 * S);
	lanes_end(&lanes, 1, OUTCOME_FAILED, 1, 3 * S);
	tap_ok(lanes.stopping && next(&lanes) == -1, "one that fails stops all");
	tap_ok(lanes.tasks[0].ending && lanes.tasks[3].ending, "what runs is to end");
	tap_eq_int(lanes.tasks[4].state, TASK_SKIPPED, "what waits is skipped");
	lanes_end(&lanes, 0, OUTCOME_SIGNALED, 143, 4 * S);
	lanes_end(&lanes, 3, OUTCOME_OK, 0, 4 * S);
	count = lanes_count(&lanes);
	tap_ok(count.cancelled == 1 && count.ok == 2 && count.failed == 1,
	       "what we ended is cancelled; what made it to its own end is ok");
	tap_eq_int(lanes_worst(&lanes), 1, "what was cancelled does not count for the status");
}

static int worst(const enum outcome *outcomes, const int *statuses, size_t n)
{
	_cleanup_(lanes_release) struct lanes lanes = {0};

	lanes_init(&lanes, n, 1, false);
	for (size_t i = 0; i < n; i++) {
		lanes_start(&lanes, i, S);
		lanes_end(&lanes, i, outcomes[i], statuses[i], S);
	}
	return lanes_worst(&lanes);
}

static void check_worst(void)
{
	static const struct {
		enum outcome outcome;
		int status;
	} ranks[] = {
		{OUTCOME_OK, 0},         {OUTCOME_FAILED, 1},  {OUTCOME_FAILED, 255},
		{OUTCOME_SIGNALED, 137}, {OUTCOME_OOM, 139},   {OUTCOME_TIMEOUT, 124},
		{OUTCOME_ERROR, 126},    {OUTCOME_ERROR, 127}, {OUTCOME_REFUSED, 125},
	};

	for (size_t a = 0; a < array_len(ranks); a++)
		for (size_t b = 0; b < array_len(ranks); b++) {
			enum outcome outcomes[] = {ranks[a].outcome, ranks[b].outcome};
			int statuses[] = {ranks[a].status, ranks[b].status};

			tap_eq_int(worst(outcomes, statuses, 2), ranks[a > b ? a : b].status,
				   "%s %d and %s %d", outcome_name(outcomes[0]), statuses[0],
				   outcome_name(outcomes[1]), statuses[1]);
		}
	tap_eq_int(worst((enum outcome[]){OUTCOME_LIMIT}, (int[]){0}, 1), 1,
		   "a limit is no success, whatever the command made of it");
	tap_eq_int(worst(NULL, NULL, 0), 0, "nothing at all");
}

static void check_room(void)
{
	const struct lane_user users[] = {
		{.order = 5, .running = 1, .queued = 9, .jobs = 2},
		{.order = 3, .running = 1, .queued = 0, .jobs = 8},
	};
	const struct lane_user odd[] = {{.order = 1, .running = UINT32_MAX, .queued = UINT32_MAX},
					{.order = 2, .running = UINT32_MAX, .jobs = UINT32_MAX}};

	tap_eq_int(lanes_room(NULL, 0, 1, 4), 4, "nobody there: every lane");
	tap_eq_int(lanes_room(users, 2, 7, 4), 1, "who comes last leaves one to the one before");
	tap_eq_int(lanes_room(users, 2, 5, 4), 2, "the one before it does not wait for itself");
	tap_eq_int(lanes_room(users, 2, 4, 4), 2, "nor for those after it");
	tap_eq_int(lanes_room(users, 2, 7, 2), 0, "no lane is free");
	tap_eq_int(lanes_room(users, 2, 7, 1), 0, "fewer lanes than run: none is free");
	tap_eq_int(lanes_room(odd, 2, 7, 4), 0, "absurd numbers overflow nothing");
}

static void check_admission(void)
{
	const struct lane_user users[] = {{.order = 1, .running = 2, .queued = 3, .jobs = 2}};
	unsigned start = 77, places = 77;

	tap_ok(lanes_admit(NULL, 0, 10, 4, 2, 8, &start, &places) && start == 2,
	       "two start, eight wait");
	tap_ok(!lanes_admit(NULL, 0, 11, 4, 2, 8, &start, &places) && places == 8,
	       "one more is too much");
	tap_ok(lanes_admit(NULL, 0, 5, 1, 4, 4, &start, &places) && start == 1,
	       "fewer at once than there are lanes");
	tap_ok(!lanes_admit(NULL, 0, 6, 1, 4, 4, &start, &places), "then the others wait as well");
	tap_ok(lanes_admit(users, 1, 2, 2, 2, 5, &start, &places) && start == 0,
	       "no lane, two places: both wait");
	tap_ok(!lanes_admit(users, 1, 3, 2, 2, 5, &start, &places) && places == 2,
	       "three do not fit");
	tap_ok(lanes_admit(users, 1, 1, 2, 3, 0, &start, &places) && start == 1,
	       "a free lane needs no place in the queue");
	tap_ok(!lanes_admit(users, 1, 2, 2, 3, 0, &start, &places) && places == 0,
	       "a queue of none");
	tap_ok(lanes_admit(users, 1, 0, 2, 2, 3, &start, &places) && start == 0, "nothing to run");
}

int main(void)
{
	check_order();
	check_fail_fast();
	check_worst();
	check_room();
	check_admission();
	return tap_done();
}
