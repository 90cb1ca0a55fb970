/* SPDX-License-Identifier: MIT */
/*
 * check - several registered commands at once, in the lanes of the workspace.
 *
 * lanes.h decides, lane-book.h shares with other processes, check-child.h runs one;
 * here they meet. The caller calls check_step() until everything is over, and looks at
 * the tasks between two steps.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "api/check-child.h"
#include "api/lane-book.h"
#include "api/lanes.h"
#include "base/err.h"

struct context;
struct strv;

struct check {
	struct lanes lanes;
	struct check_child *children; /* as many as lanes.len */
	struct lane_book book;
	struct lane_limits limits;
	char *program, *workspace;
	int signal;          /* by which commands are told to end; 0: none */
	unsigned ready;      /* lanes that we have and do not use yet */
	uint64_t looked_ns;  /* for a free lane */
	uint64_t weighed_ns; /* memory */
	bool weigh;          /* look at the memory of commands now and then */
	bool is_unshared;    /* lanes are not shared with other processes, … */
	struct err unshared; /* … and why */
};
#define CHECK_NONE                                                                                 \
	{                                                                                          \
		.book = LANE_BOOK_CLOSED                                                           \
	}

struct check_request {
	unsigned jobs; /* 0: as many as there are lanes */
	bool fail_fast;
};

/* [lanes], or what it is by default. */
struct lane_limits lane_limits_read(const struct context *context);
/* NAMES, else [lanes] check, else every command: each exists, and stands there once. */
int check_names(const struct context *context, char *const *names, struct strv *ret,
		struct err *err);
/* Come in; nothing runs yet. CHECK is CHECK_NONE and released by check_release() whatever
 * the outcome. -EBUSY: the queue is full. */
int check_open(struct check *check, const struct context *context, const struct strv *names,
	       const struct check_request *request, struct err *err);
/* Ends what runs. */
void check_release(struct check *check);

/* Start what may start, wait for something to happen, at most TIMEOUT_MS, or for FD (-1: none)
 * to be readable. 1: there is more to come, 0: all is over. */
int check_step(struct check *check, int fd, int timeout_ms, struct err *err);
/* End everything, by SIGNAL first; said again, at once. */
void check_stop(struct check *check, int signal);
/* Pass SIGNAL on to the runs: SIGTSTP, SIGCONT. */
void check_pass(struct check *check, int signal);
