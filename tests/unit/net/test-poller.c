/* SPDX-License-Identifier: MIT */
/* Descriptors behind one of the loop: removed by each other, bounded turns, ticks. */
#include "net/poller.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "tests/tap.h"

enum { MANY = 100 };

static struct loop loop;
static struct poller *poller;
static struct poll_entry *entries[MANY];
static int called;

static struct poll_entry *ready_entry(void (*fn)(void *, uint32_t), void *data)
{
	struct poll_entry *e = calloc(1, sizeof(*e));

	*e = (struct poll_entry){eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK), EPOLLIN, fn, data};
	if (poller_add(poller, e) < 0)
		abort();
	return e;
}

static void drop(struct poll_entry **e)
{
	if (!*e)
		return;
	poller_remove(poller, *e);
	close((*e)->fd);
	free(*e);
	*e = NULL;
}

/* The first that is called frees all: itself, and those of the same batch. */
static void free_all(void *data, uint32_t events)
{
	(void)data, (void)events;
	called++;
	for (int i = 0; i < MANY; i++)
		drop(&entries[i]);
}

static void count(void *data, uint32_t events)
{
	(void)data, (void)events;
	called++;
}

static void test_removal(void)
{
	for (int i = 0; i < MANY; i++)
		entries[i] = ready_entry(free_all, NULL);
	loop_turn(&loop);
	tap_eq_int(called, 1, "what a handler removed and freed is not called");
}

static void test_bound(void)
{
	called = 0;
	for (int i = 0; i < MANY; i++)
		entries[i] = ready_entry(count, NULL);
	loop_turn(&loop);
	tap_ok(called > 0 && called < MANY, "one turn sees to some, not to all (%d)", called);
	for (int i = 0; i < MANY; i++)
		loop_turn(&loop);
	tap_ok(called > MANY, "others have their turn as well");
	for (int i = 0; i < MANY; i++)
		drop(&entries[i]);
}

static void test_edge(void)
{
	entries[0] = ready_entry(count, NULL);
	called = 0;
	(void)poller_change(poller, entries[0], EPOLLIN | EPOLLET);
	loop_turn(&loop);
	tap_eq_int(called, 1, "EPOLLET tells once");
	(void)poller_change(poller, entries[0], EPOLLIN | EPOLLET);
	loop_turn(&loop);
	tap_eq_int(called, 2, "poller_change() makes it tell again");
	drop(&entries[0]);
}

static int ticks_a, ticks_b;
static struct poller_tick a, b;

static void tick_a(void *data)
{
	(void)data;
	ticks_a++;
	poller_remove_tick(poller, &b);
	a.wanted = 0;
}

static void tick_b(void *data)
{
	(void)data;
	ticks_b++;
}

static void stop(void *data, short revents)
{
	(void)revents;
	*(bool *)data = true;
}

static void test_ticks(void)
{
	struct loop_timer deadline = {.fn = stop, .data = &loop.done};
	uint64_t begin = clock_mono_ns();

	b = (struct poller_tick){.fn = tick_b};
	a = (struct poller_tick){.fn = tick_a};
	poller_add_tick(poller, &b);
	poller_add_tick(poller, &a); /* goes first */
	b.wanted = a.wanted = 1;
	poller_wake(poller);
	deadline.at_ns = begin + 3ull * POLLER_TICK_MS * 1000000;
	loop_add_timer(&loop, &deadline);
	loop_run(&loop);
	loop_remove_timer(&loop, &deadline);
	tap_eq_int(ticks_a, 1, "a tick comes while it is wanted");
	tap_eq_int(ticks_b, 0, "one that another removed does not");
	poller_remove_tick(poller, &a);
}

int main(void)
{
	struct err err;

	if (poller_new(&loop, &poller, &err) < 0)
		abort();
	test_removal();
	test_bound();
	test_edge();
	test_ticks();
	poller_free(poller);
	loop_release(&loop);
	return tap_done();
}
