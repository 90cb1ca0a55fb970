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

void beside_init(struct beside *beside); /* before the child is there */
void beside_send(struct beside *beside, pid_t child);
/* In the child, once it knows that it was sent: what it starts may use all. */
int beside_return(const struct beside *beside);
