/* SPDX-License-Identifier: MIT */
/*
 * poller - many descriptors of the broker behind one of the supervisor's loop (epoll), and a
 * tick for what takes too long.
 *
 * Connections come by the hundred; the loop is for a handful.
 */
#pragma once
#include <stdint.h>
#include <sys/epoll.h>

struct err;
struct loop;
struct poller;

/* Part of what is watched. It may be removed, and freed, by any handler at any time. */
struct poll_entry {
	int fd;
	uint32_t events; /* EPOLL… */
	void (*fn)(void *data, uint32_t events);
	void *data;
};

int poller_new(struct loop *loop, struct poller **ret, struct err *err);
struct poller *poller_free(struct poller *poller);               /* leaves the loop */
int poller_add(struct poller *poller, struct poll_entry *entry); /* 0 or -errno */
/* Also with the events that it has: one that EPOLLET told of, and that is not done, is told of again. */
int poller_change(struct poller *poller, struct poll_entry *entry, uint32_t events);
void poller_remove(struct poller *poller, struct poll_entry *entry); /* before its close */

#define POLLER_TICK_MS 100
/* Called about every POLLER_TICK_MS while `wanted`; the owner's. */
struct poller_tick {
	void (*fn)(void *data);
	void *data;
	unsigned wanted; /* how many things wait for time: 0 stops it */
	struct poller_tick *next;
};
void poller_add_tick(struct poller *poller, struct poller_tick *tick);
void poller_remove_tick(struct poller *poller, struct poller_tick *tick);
void poller_wake(struct poller *poller); /* after `wanted` rose from 0 */
