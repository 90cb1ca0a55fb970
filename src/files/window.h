/* SPDX-License-Identifier: MIT */
/*
 * window - some lines out of a text that comes in pieces.
 *
 * Bounded by lines, by bytes, and in each line: what is too long is cut, at the border of a
 * character, and says how much is missing. Pure.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define WINDOW_LINES_DEFAULT 2000
#define WINDOW_BYTES_MAX     ((size_t)256 << 10)
#define WINDOW_LINE_MAX      ((size_t)4096)

struct window {
	uint64_t first, limit; /* lines, from 1 on */
	uint64_t lines;        /* begun so far, of the whole text */
	uint64_t shown;        /* of them in `text` */
	uint64_t next;         /* where to go on; 0: nothing is left out behind */
	uint64_t cut;          /* lines that are not whole */
	size_t line_bytes;     /* of the line at hand */
	bool in_line;
	bool has_nul; /* in what it was given */
	struct str text;
};

void window_init(struct window *w, uint64_t first, uint64_t limit);
/* 0 or -ENOMEM. */
int window_add(struct window *w, const char *data, size_t len);
/* Nothing more comes. */
int window_end(struct window *w);
void window_release(struct window *w);

/* How many of the LEN bytes of TEXT fit into MAX without a part of a character. */
size_t window_fit(const char *text, size_t len, size_t max);
