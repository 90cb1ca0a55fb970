/* SPDX-License-Identifier: MIT */
/*
 * origin - which file of the base a staged one was copied from, where that is not of its name.
 *
 * The kernel does not write that down in an overlay without privileges. But a copy has the time of
 * what was copied, to the nanosecond, and a rename leaves it that. So a file that the command
 * renamed is told from one that the host deleted.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct node;
struct stage;

/* Files of the base where something else is staged. Begins as all zero; read when it is asked. */
struct origins {
	bool is_read;
	unsigned root;
	struct origin *items;
	size_t n, cap;
};

/* Is there one that the staged file UPPER is a copy of, and that nobody has touched since T0? Then
 * no name was taken from it on the host. False, too, where it cannot be told. */
bool origins_find(struct origins *origins, const struct stage *stage, unsigned root,
		  const struct node *upper, struct timespec t0);
void origins_release(struct origins *origins);
