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
	for (int i = 0; i < 3 * LOOP_FDS_MAX; i++) {
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
	return tap_done();
}
