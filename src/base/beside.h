/* SPDX-License-Identifier: MIT */
/*
 * beside - a child that works while its parent does.
 *
 * A kernel that leaves a new process on the CPU of its parent lets it wait until the parent
 * sleeps, however idle the others are. So it is sent to another one, and gets all back
 * when both have done their part.
 */
#pragma once
#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct beside {
	cpu_set_t all; /* that we may use */
	bool on;       /* one of them is idle */
	bool sent;
};

/* Is a processor idle? To be asked now and then before the child is there, of one that was {0} at
 * first: what keeps all of them busy is often gone a moment later, and one time is enough. */
void beside_look(struct beside *beside);
void beside_send(struct beside *beside, pid_t child);
/* In the child, once it knows that it was sent: what it starts may use all. */
int beside_return(const struct beside *beside);
