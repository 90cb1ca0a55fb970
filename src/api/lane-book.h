/* SPDX-License-Identifier: MIT */
/*
 * lane-book - who uses the lanes of a workspace, over all processes of a user.
 *
 * Each check has a file in `lanes/` of the workspace's state, which it keeps locked;
 * what the kernel has unlocked, after kill -9 for example, counts no more. Whoever reads
 * or writes holds one more lock for that moment.
 */
#pragma once
#include <stdbool.h>

#include "api/lanes.h"

struct err;
struct workspace;

struct lane_book {
	int dir;   /* -1: the lanes are not shared */
	int lock;  /* held for a moment */
	int own;   /* our entry; -1: none */
	int watch; /* readable when something has changed */
	char name[48];
	struct lane_user self;
};
#define LANE_BOOK_CLOSED                                                                           \
	{                                                                                          \
		.dir = -1, .lock = -1, .own = -1, .watch = -1                                      \
	}

/* Without CREATE, -ENOENT with err untouched: nobody has used a lane here yet. */
int lane_book_open(const struct workspace *workspace, bool create, struct lane_book *ret,
		   struct err *err);
void lane_book_close(struct lane_book *book); /* our entry goes */

/* What the lanes are limited to. */
struct lane_limits {
	unsigned max_parallel, queue_capacity;
};

/* Come in with LEN commands, of which we want JOBS at once. -EBUSY: the queue is too full, and
 * err says so. *ret_start of them have a lane already. */
int lane_book_enter(struct lane_book *book, size_t len, unsigned jobs,
		    const struct lane_limits *limits, unsigned *ret_start, struct err *err);
/* Get a lane for one of our queued commands: 1, or 0 when there is none. */
int lane_book_claim(struct lane_book *book, const struct lane_limits *limits, struct err *err);
/* Say how many of ours run and wait now; fewer than before. */
int lane_book_tell(struct lane_book *book, unsigned running, unsigned queued, struct err *err);
/* Everybody together. */
int lane_book_sum(struct lane_book *book, unsigned *ret_running, unsigned *ret_queued,
		  struct err *err);
/* Forget what `watch` has to say. */
void lane_book_drain(struct lane_book *book);
