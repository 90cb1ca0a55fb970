/* SPDX-License-Identifier: MIT */
#include "net/poller.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"

/* Handled in one turn of the loop: the observer and the timers must not wait for more. */
enum { BATCH = 32 };

struct poller {
	struct loop *loop;
	int fd;
	struct epoll_event batch[BATCH];
	int at, len; /* of the batch that is being handled */
	struct loop_timer timer;
	struct poller_tick *ticks;
	struct poller_tick *next_tick; /* while they are gone through */
};

static void on_events(void *data, short revents)
{
	struct poller *p = data;

	(void)revents;
	p->len = epoll_wait(p->fd, p->batch, BATCH, 0);
	for (p->at = 0; p->at < p->len; p->at++) {
		struct poll_entry *entry = p->batch[p->at].data.ptr;

		if (entry)
			entry->fn(entry->data, p->batch[p->at].events);
	}
	p->len = 0;
}

static void on_timer(void *data, short revents)
{
	struct poller *p = data;

	(void)revents;
	for (struct poller_tick *t = p->ticks; t; t = p->next_tick) {
		p->next_tick = t->next;
		if (t->wanted)
			t->fn(t->data);
	}
	p->next_tick = NULL;
	poller_wake(p);
}

int poller_new(struct loop *loop, struct poller **ret, struct err *err)
{
	struct poller *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_oom(err);
	p->loop = loop;
	p->fd = epoll_create1(EPOLL_CLOEXEC);
	r = p->fd < 0 ? -errno : loop_add(loop, p->fd, POLLIN, on_events, p);
	if (r < 0) {
		fd_close(p->fd);
		free(p);
		return err_sys(err, r, "watch the connections of the sandbox");
	}
	p->timer = (struct loop_timer){.at_ns = LOOP_NEVER, .fn = on_timer, .data = p};
	loop_add_timer(loop, &p->timer);
	*ret = p;
	return 0;
}

struct poller *poller_free(struct poller *p)
{
	if (!p)
		return NULL;
	loop_remove(p->loop, p->fd);
	loop_remove_timer(p->loop, &p->timer);
	fd_close(p->fd);
	free(p);
	return NULL;
}

static int control(struct poller *p, int op, struct poll_entry *entry)
{
	struct epoll_event event = {.events = entry->events, .data.ptr = entry};

	return epoll_ctl(p->fd, op, entry->fd, &event) < 0 ? -errno : 0;
}

int poller_add(struct poller *p, struct poll_entry *entry)
{
	return control(p, EPOLL_CTL_ADD, entry);
}

int poller_change(struct poller *p, struct poll_entry *entry, uint32_t events)
{
	entry->events = events;
	return control(p, EPOLL_CTL_MOD, entry);
}

void poller_remove(struct poller *p, struct poll_entry *entry)
{
	(void)epoll_ctl(p->fd, EPOLL_CTL_DEL, entry->fd, NULL);
	for (int i = p->at + 1; i < p->len; i++)
		if (p->batch[i].data.ptr == entry)
			p->batch[i].data.ptr = NULL;
}

void poller_add_tick(struct poller *p, struct poller_tick *tick)
{
	tick->next = p->ticks;
	p->ticks = tick;
	poller_wake(p);
}

void poller_remove_tick(struct poller *p, struct poller_tick *tick)
{
	struct poller_tick **at = &p->ticks;

	while (*at && *at != tick)
		at = &(*at)->next;
	if (!*at)
		BUG("a tick that was never added");
	*at = tick->next;
	if (p->next_tick == tick)
		p->next_tick = tick->next;
}

void poller_wake(struct poller *p)
{
	if (p->timer.at_ns != LOOP_NEVER)
		return;
	for (const struct poller_tick *t = p->ticks; t; t = t->next) {
		if (!t->wanted)
			continue;
		p->timer.at_ns = clock_mono_ns() + POLLER_TICK_MS * 1000000ull;
		return;
	}
}
