/* SPDX-License-Identifier: MIT */
/*
 * loop - what the supervisor waits for: descriptors and points in time.
 *
 * Each part of a run that has something to watch adds itself; the supervisor
 * turns the loop until the run has ended. The first slots are its own: nothing is
 * allocated before more are needed, as for many commands at once. A loop begins as
 * zeroes, and stays where it is.
 */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOOP_FDS_OWN 24
#define LOOP_NEVER   UINT64_MAX

typedef void loop_fn(void *data, short revents);

/* The owner's; part of the loop from loop_add_timer() on. Each call of `fn` is
 * preceded by `at_ns` becoming LOOP_NEVER. */
struct loop_timer {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	loop_fn *fn;
	void *data;
	struct loop_timer *next;
};

struct loop_handler {
	loop_fn *fn;
	void *data;
};

struct loop {
	struct pollfd own_fds[LOOP_FDS_OWN];
	struct loop_handler own_handlers[LOOP_FDS_OWN];
	struct pollfd *fds; /* its own, or larger ones; NULL: nothing was added yet */
	struct loop_handler *handlers;
	size_t len, cap;
	struct loop_timer *timers;
	struct loop_timer *next_timer; /* while they are gone through */
	bool done;                     /* set by a handler: loop_run() returns */
	bool lean; /* it may wait for long: with as little memory as can be (lean.h) */
};

/* 0 or -ENOMEM; never fails for one of the first LOOP_FDS_OWN. */
int loop_add(struct loop *loop, int fd, short events, loop_fn *fn, void *data);
/* Wait for EVENTS of FD from here on; 0 for none but a hang-up. */
void loop_set_events(struct loop *loop, int fd, short events);
void loop_remove(struct loop *loop, int fd); /* FD is watched no more; it stays open */
void loop_add_timer(struct loop *loop, struct loop_timer *timer);
void loop_remove_timer(struct loop *loop, struct loop_timer *timer); /* one that was added */
void loop_run(struct loop *loop);                                    /* until done */
void loop_turn(struct loop *loop);    /* once: wait for something, and see to it */
void loop_release(struct loop *loop); /* it is empty then */
