/* SPDX-License-Identifier: MIT */
/*
 * pump - bytes on their way from one descriptor to another, in memory.
 *
 * Without a limit it is a queue of bounded size: who fills it waits. With one,
 * nobody waits: the first half of the limit passes as it comes, of the rest the
 * latest half is kept and comes out at the end, and what lay between is
 * counted. Memory grows with what is held and never past the limit.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PUMP_UNLIMITED UINT64_MAX
enum { PUMP_QUEUE_MAX = 65536, PUMP_CHUNK = 16384 };

struct ring {
	char *data;
	size_t cap, start, len;
};

struct pump {
	bool limited;
	uint64_t head_left; /* of the first half */
	uint64_t head_max, tail_max;
	uint64_t dropped;
	struct ring head, tail;
	char last;     /* byte of the head, if there was one */
	char note[64]; /* between head and tail, once it has ended */
	size_t note_start, note_len;
	bool ended;
};

/* LIMIT: bytes, or PUMP_UNLIMITED. */
void pump_init(struct pump *pump, uint64_t limit);
void pump_release(struct pump *pump);
/* How many bytes pump_put() takes now, PUMP_CHUNK at most. 0: not before some
 * have been taken out. */
size_t pump_room(struct pump *pump);
void pump_put(struct pump *pump, const char *data,
	      size_t len); /* LEN <= pump_room(), asked before each */
/* Nothing more will come. EOL ends a line of ours: "\n", or "\r\n". */
void pump_end(struct pump *pump, const char *eol);
/* What can be written now: *ret_data borrows; 0 when there is nothing. */
size_t pump_peek(const struct pump *pump, const char **ret_data);
void pump_take(struct pump *pump, size_t len); /* so much of it was written */
