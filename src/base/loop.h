/* SPDX-License-Identifier: MIT */
/*
 * loop - what the supervisor waits for: descriptors and points in time.
 *
 * Each part of a run that has something to watch adds itself; the supervisor
 * turns the loop until the run has ended. No allocation.
 */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOOP_FDS_MAX 24
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

struct loop {
	struct pollfd fds[LOOP_FDS_MAX];
	struct {
		loop_fn *fn;
		void *data;
	} handlers[LOOP_FDS_MAX];
	size_t len;
	struct loop_timer *timers;
	bool done; /* set by a handler: loop_run() returns */
};

void loop_add(struct loop *loop, int fd, short events, loop_fn *fn, void *data);
/* Wait for EVENTS of FD from here on; 0 for none but a hang-up. */
void loop_set_events(struct loop *loop, int fd, short events);
void loop_remove(struct loop *loop, int fd); /* FD is watched no more; it stays open */
void loop_add_timer(struct loop *loop, struct loop_timer *timer);
void loop_run(struct loop *loop); /* until done */
