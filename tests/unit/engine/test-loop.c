/* SPDX-License-Identifier: MIT */
#include "engine/loop.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "tap.h"

#define MS 1000000ull

struct script {
	struct loop loop;
	int first[2], second[2];
	int order[8];
	size_t len;
	struct loop_timer tick;
	int ticks;
};

static void on_first(void *data, short revents)
{
	struct script *s = data;
	char c;

	if (revents & POLLIN && read(s->first[0], &c, 1) == 1)
		s->order[s->len++] = 1;
	/* What is removed in this turn is not called in this turn. */
	loop_remove(&s->loop, s->second[0]);
	loop_remove(&s->loop, s->first[0]);
	s->tick.at_ns = clock_mono_ns();
}

static void on_second(void *data, short revents)
{
	struct script *s = data;

	(void)revents;
	s->order[s->len++] = 2;
}

static void on_tick(void *data, short revents)
{
	struct script *s = data;

	(void)revents;
	if (++s->ticks == 3)
		s->loop.done = true;
	else
		s->tick.at_ns = clock_mono_ns() + 5 * MS;
}

static void on_quiet(void *data, short revents)
{
	(void)revents;
	*(bool *)data = true;
}

static void stop(void *data, short revents)
{
	(void)revents;
	((struct loop *)data)->done = true;
}

int main(void)
{
	struct script s = {.tick = {.at_ns = LOOP_NEVER, .fn = on_tick, .data = &s}};
	struct loop quiet = {0};
	struct loop_timer end = {.at_ns = clock_mono_ns() + 20 * MS, .fn = stop, .data = &quiet};
	bool called = false;
	uint64_t begin = clock_mono_ns();

	if (pipe(s.first) < 0 || pipe(s.second) < 0)
		return 1;
	loop_add(&quiet, s.first[0], POLLIN, on_quiet, &called);
	loop_set_events(&quiet, s.first[0], 0);
	loop_add_timer(&quiet, &end);
	if (write(s.first[1], "x", 1) != 1 || write(s.second[1], "x", 1) != 1)
		return 1;
	loop_run(&quiet);
	tap_ok(!called, "what nobody waits for is not called");
	tap_ok(clock_mono_ns() - begin >= 19 * MS, "a timer comes not too early");

	loop_add(&s.loop, s.first[0], POLLIN, on_first, &s);
	loop_add(&s.loop, s.second[0], POLLIN, on_second, &s);
	loop_add_timer(&s.loop, &s.tick);
	loop_run(&s.loop);
	tap_ok(s.len == 1 && s.order[0] == 1, "removed in the same turn: not called");
	tap_eq_int(s.ticks, 3, "a timer that is set again comes again");
	tap_eq_int((long long)s.loop.len, 0, "removed descriptors leave room");
	return tap_done();
}
