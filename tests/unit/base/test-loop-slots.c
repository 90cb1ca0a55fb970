/* SPDX-License-Identifier: MIT */
/* Descriptors that come and go while the loop turns, and timers. */
#include "base/loop.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/tap.h"

static struct loop loop;
static int a[2], b[2];
static int calls_a, calls_b, calls_timer;

static void on_b(void *data, short revents)
{
	char byte;

	(void)data;
	(void)revents;
	calls_b++;
	if (read(b[0], &byte, 1) != 1)
		abort();
	loop.done = calls_b == 2;
}

/* Takes B away and adds it again, more often than the loop has slots. */
static void on_a(void *data, short revents)
{
	char byte;

	(void)data;
	(void)revents;
	calls_a++;
	if (read(a[0], &byte, 1) != 1)
		abort();
	for (int i = 0; i < 3 * LOOP_FDS_OWN; i++) {
		loop_remove(&loop, b[0]);
		loop_add(&loop, b[0], POLLIN, on_b, NULL);
	}
}

static void on_timer(void *data, short revents)
{
	struct loop_timer *timer = data;

	(void)revents;
	calls_timer++;
	tap_ok(timer->at_ns == LOOP_NEVER, "a timer fires once");
	if (write(b[1], "x", 1) != 1)
		abort();
}

/* -- More than a loop's own slots ----------------------------------------- */

enum { MANY = 300 };
static struct loop many;
static int pipes[MANY][2], calls_many;
static struct loop_timer first, second, third;

static void on_one(void *data, short revents)
{
	int *end = data;

	(void)revents;
	calls_many++;
	loop_remove(&many, *end);
	many.done = calls_many == MANY;
}

static void on_first(void *data, short revents)
{
	(void)data;
	(void)revents;
	loop_remove_timer(&many, &second);
	loop_remove_timer(&many, &first);
}

static void on_second(void *data, short revents)
{
	(void)data;
	(void)revents;
	abort();
}

static void on_third(void *data, short revents)
{
	(void)data;
	(void)revents;
	many.done = true;
}

static void test_many(void)
{
	for (int i = 0; i < MANY; i++)
		if (pipe(pipes[i]) < 0 || write(pipes[i][1], "x", 1) != 1 ||
		    loop_add(&many, pipes[i][0], POLLIN, on_one, &pipes[i][0]) < 0)
			abort();
	loop_run(&many);
	tap_eq_int(calls_many, MANY, "a loop grows as needed");
	tap_eq_int((long long)many.len, 0, "all of them are gone");
	many.done = false;
	first = (struct loop_timer){.fn = on_first};
	second = (struct loop_timer){.fn = on_second};
	third = (struct loop_timer){.fn = on_third};
	loop_add_timer(&many, &third);
	loop_add_timer(&many, &second);
	loop_add_timer(&many, &first);
	loop_run(&many);
	tap_ok(many.timers == &third && !third.next, "a timer can remove the next one and itself");
	loop_release(&many);
	for (int i = 0; i < MANY; i++) {
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
}

int main(void)
{
	struct loop_timer timer = {.fn = on_timer, .data = &timer};

	if (pipe(a) < 0 || pipe(b) < 0 || write(a[1], "x", 1) != 1 || write(b[1], "x", 1) != 1)
		abort();
	loop_add(&loop, a[0], POLLIN, on_a, NULL);
	loop_add(&loop, b[0], POLLIN, on_b, NULL);
	timer.at_ns = clock_mono_ns() + 20000000;
	loop_add_timer(&loop, &timer);
	loop_run(&loop);
	tap_eq_int(calls_a, 1, "one event, one call");
	tap_eq_int(calls_b, 2, "an event of a descriptor that was added again is not lost");
	tap_eq_int(calls_timer, 1, "the timer fired");
	tap_eq_int((long long)loop.len, 2, "no slot is left over");
	loop.done = false;
	loop_set_events(&loop, b[0], 0);
	loop_remove(&loop, a[0]);
	if (write(b[1], "x", 1) != 1)
		abort();
	timer.at_ns = clock_mono_ns();
	calls_b = 1;
	loop_set_events(&loop, b[0], POLLIN);
	loop_run(&loop);
	tap_eq_int((long long)loop.len, 1, "one that was removed is gone");
	test_many();
	return tap_done();
}
