/* SPDX-License-Identifier: MIT */
#include "base/loop.h"

#include "base/clock.h"
#include "base/err.h"

enum { LONGEST_WAIT_MS = 3600000 };

static size_t find(const struct loop *loop, int fd)
{
	for (size_t i = 0; i < loop->len; i++)
		if (loop->fds[i].fd == fd)
			return i;
	BUG("a descriptor that nobody watches");
}

void loop_add(struct loop *loop, int fd, short events, loop_fn *fn, void *data)
{
	size_t i = 0;

	/* A slot that became free in this turn may be taken: it has no events. */
	while (i < loop->len && loop->fds[i].fd >= 0)
		i++;
	if (i == loop->len && loop->len++ == LOOP_FDS_MAX)
		BUG("more descriptors than the loop holds");
	loop->fds[i] = (struct pollfd){.fd = fd, .events = events};
	loop->handlers[i].fn = fn;
	loop->handlers[i].data = data;
}

void loop_set_events(struct loop *loop, int fd, short events)
{
	loop->fds[find(loop, fd)].events = events;
}

void loop_remove(struct loop *loop, int fd)
{
	/* The slot stays: a turn of the loop may be walking over it. */
	loop->fds[find(loop, fd)].fd = -1;
}

void loop_add_timer(struct loop *loop, struct loop_timer *timer)
{
	timer->next = loop->timers;
	loop->timers = timer;
}

static int wait_ms(const struct loop *loop)
{
	uint64_t now = clock_mono_ns(), next = LOOP_NEVER, ms;

	for (const struct loop_timer *t = loop->timers; t; t = t->next)
		if (t->at_ns < next)
			next = t->at_ns;
	if (next == LOOP_NEVER)
		return -1;
	if (next <= now)
		return 0;
	ms = (next - now + 999999) / 1000000;
	return ms > LONGEST_WAIT_MS ? LONGEST_WAIT_MS : (int)ms;
}

static void fire_timers(struct loop *loop)
{
	uint64_t now = loop->timers ? clock_mono_ns() : 0;

	for (struct loop_timer *t = loop->timers; t && !loop->done; t = t->next) {
		if (t->at_ns > now)
			continue;
		t->at_ns = LOOP_NEVER;
		t->fn(t->data, 0);
	}
}

static void drop_removed(struct loop *loop)
{
	size_t kept = 0;

	for (size_t i = 0; i < loop->len; i++) {
		if (loop->fds[i].fd < 0)
			continue;
		loop->fds[kept] = loop->fds[i];
		loop->handlers[kept++] = loop->handlers[i];
	}
	loop->len = kept;
}

void loop_run(struct loop *loop)
{
	while (!loop->done) {
		int n = poll(loop->fds, loop->len, wait_ms(loop));

		for (size_t i = 0; n > 0 && i < loop->len && !loop->done; i++)
			if (loop->fds[i].fd >= 0 && loop->fds[i].revents)
				loop->handlers[i].fn(loop->handlers[i].data, loop->fds[i].revents);
		fire_timers(loop);
		drop_removed(loop);
	}
}
