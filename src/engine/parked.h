/* SPDX-License-Identifier: MIT */
/*
 * parked - listeners that nobody calls any more, to be closed when there is time.
 *
 * The last close of one makes the kernel let another task go first, to clean up after the
 * filter: on a busy machine that is a millisecond, in which the next command waits.
 */
#pragma once
#include <stddef.h>

#include "base/loop.h"

enum { PARKED_MAX = 32 };

struct parked {
	struct loop *loop;
	struct loop_timer timer;
	int fds[PARKED_MAX];
	size_t len;
};

void parked_init(struct parked *parked, struct loop *loop);
void parked_add(struct parked *parked, int fd); /* -1 ok; it is closed some time */
void parked_release(struct parked *parked);     /* closed now; the loop is left */
/* Each errand has a few descriptors here, and so has each connection of a brokered network; what is
 * inside keeps its own limit. */
void parked_make_room(void);
