/* SPDX-License-Identifier: MIT */
/*
 * inlet - what lies in the caller's pipe, for a command that does not get that pipe.
 *
 * Whoever has one end of a pipe can open the other by /proc/self/fd, and Landlock does not
 * govern pipes: a command could write what others read after it from the same stdin, the
 * shell among them that takes its script from there. So it gets a pipe of its own.
 *
 * What it does not read stays in the caller's: bytes are lent by tee(2), some pages at a time, and
 * those that were read are taken out of the caller's pipe afterwards.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

struct err;

struct inlet {
	struct loop *loop;
	int outer;               /* the caller's; not ours to close */
	int reader;              /* what the command gets; -1 */
	int writer;              /* -1: closed */
	size_t lent;             /* bytes that lie in both */
	size_t slots;            /* of the command's pipe */
	struct loop_timer later; /* look whether they were read */
	uint64_t later_ms;
	bool outer_on;  /* watched by the loop */
	bool writer_on; /* … and this one */
};

#define INLET_NONE ((struct inlet){.outer = -1, .reader = -1, .writer = -1})

/* OUTER: a pipe. Where it cannot be read the command's has come to its end. */
int inlet_open(struct inlet *in, int outer, struct err *err);
/* The command has its end. SIGPIPE is ignored from here on. */
void inlet_start(struct inlet *in, struct loop *loop);
/* Nobody is there to read any more; also before inlet_start(), and more than once. */
void inlet_close(struct inlet *in);
