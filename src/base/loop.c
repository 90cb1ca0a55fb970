/* SPDX-License-Identifier: MIT */
#include "base/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/lean.h"

enum { LONGEST_WAIT_MS = 3600000 };

static size_t find(const struct loop *loop, int fd)
{
	for (size_t i = 0; i < loop->len; i++)
		if (loop->fds[i].fd == fd)
			return i;
	BUG("a descriptor that nobody watches");
}

/* Both grow, or what has grown already is kept for the next time. */
static int grow(struct loop *loop)
{
	size_t cap = loop->cap * 2;
	bool own = loop->fds == loop->own_fds;
	struct pollfd *fds = reallocarray(own ? NULL : loop->fds, cap, sizeof(*fds));
	struct loop_handler *handlers;

	if (!fds)
		return -ENOMEM;
	if (own)
		memcpy(fds, loop->own_fds, sizeof(loop->own_fds));
	loop->fds = fds;
	own = loop->handlers == loop->own_handlers;
	handlers = reallocarray(own ? NULL : loop->handlers, cap, sizeof(*handlers));
	if (!handlers)
		return -ENOMEM;
	if (own)
		memcpy(handlers, loop->own_handlers, sizeof(loop->own_handlers));
	loop->handlers = handlers;
	loop->cap = cap;
	return 0;
}

int loop_add(struct loop *loop, int fd, short events, loop_fn *fn, void *data)
{
	size_t i = 0;

	if (!loop->fds) {
		loop->fds = loop->own_fds;
		loop->handlers = loop->own_handlers;
		loop->cap = LOOP_FDS_OWN;
	}
	/* A slot that became free in this turn may be taken: it has no events. */
	while (i < loop->len && loop->fds[i].fd >= 0)
		i++;
	if (i == loop->cap && grow(loop) < 0)
		return -ENOMEM;
	if (i == loop->len)
		loop->len++;
	loop->fds[i] = (struct pollfd){.fd = fd, .events = events};
	loop->handlers[i] = (struct loop_handler){.fn = fn, .data = data};
	return 0;
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

void loop_remove_timer(struct loop *loop, struct loop_timer *timer)
{
	struct loop_timer **at = &loop->timers;

	while (*at && *at != timer)
		at = &(*at)->next;
	if (!*at)
		BUG("a timer that was never added");
	*at = timer->next;
	if (loop->next_timer == timer)
		loop->next_timer = timer->next;
}

static int wait_ms(const struct loop *loop)
{
	uint64_t now, next = LOOP_NEVER, ms;

	for (const struct loop_timer *t = loop->timers; t; t = t->next)
		if (t->at_ns < next)
			next = t->at_ns;
	if (next == LOOP_NEVER)
		return -1;
	now = clock_mono_ns();
	if (next <= now)
		return 0;
	ms = (next - now + 999999) / 1000000;
	return ms > LONGEST_WAIT_MS ? LONGEST_WAIT_MS : (int)ms;
}

/* What a timer calls may remove any timer. */
static void fire_timers(struct loop *loop)
{
	uint64_t now = loop->timers ? clock_mono_ns() : 0;

	for (struct loop_timer *t = loop->timers; t && !loop->done; t = loop->next_timer) {
		loop->next_timer = t->next;
		if (t->at_ns > now)
			continue;
		t->at_ns = LOOP_NEVER;
		t->fn(t->data, 0);
	}
	loop->next_timer = NULL;
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

static int await(struct loop *loop, int ms)
{
	int n;

	if (!loop->lean || (ms >= 0 && ms <= LEAN_AFTER_MS))
		return poll(loop->fds, loop->len, ms);
	n = poll(loop->fds, loop->len, LEAN_AFTER_MS);
	if (n != 0)
		return n;
	return lean_poll(loop->fds, loop->len, ms < 0 ? -1 : ms - LEAN_AFTER_MS);
}

void loop_turn(struct loop *loop)
{
	int n = await(loop, wait_ms(loop));

	for (size_t i = 0; n > 0 && i < loop->len && !loop->done; i++)
		if (loop->fds[i].fd >= 0 && loop->fds[i].revents)
			loop->handlers[i].fn(loop->handlers[i].data, loop->fds[i].revents);
	fire_timers(loop);
	drop_removed(loop);
}

void loop_run(struct loop *loop)
{
	while (!loop->done)
		loop_turn(loop);
}

void loop_release(struct loop *loop)
{
	if (loop->fds != loop->own_fds)
		free(loop->fds);
	if (loop->handlers != loop->own_handlers)
		free(loop->handlers);
	*loop = (struct loop){0};
}
