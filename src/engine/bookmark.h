/* SPDX-License-Identifier: MIT */
/*
 * bookmark - a place of its own in the caller's file.
 *
 * Who shares an open file shares the position in it: a command could turn back, and the shell
 * that takes its script from there, as in `sh < script`, would execute some of it again, from
 * wherever the command likes. So it gets the file opened anew. When it has ended the caller's
 * position follows, and only forwards: as if all up to there had been read.
 */
#pragma once
#include <sys/types.h>

struct bookmark {
	int outer; /* the caller's; not ours to close */
	int own;   /* what the command gets; -1: the caller's will do */
	off_t at;  /* where both began */
};

#define BOOKMARK_NONE ((struct bookmark){.outer = -1, .own = -1})

/* OUTER: a regular file. One that cannot be opened again, or has no position, stays shared. */
void bookmark_open(struct bookmark *b, int outer);
/* Nobody reads any more; also more than once. */
void bookmark_close(struct bookmark *b);
