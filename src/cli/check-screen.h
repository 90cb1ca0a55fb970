/* SPDX-License-Identifier: MIT */
/*
 * check-screen - the rows of `pale check` that still change, redrawn in place below
 * what is printed for good.
 *
 * No mode of the terminal is changed and the cursor rests below the rows, so that
 * nothing has to be put right, however the process ends.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct check;

#define CHECK_SCREEN_ROWS 256

struct check_screen {
	int fd;
	bool on; /* fd is a terminal that can be drawn on, and this is no CI */
	bool colour;
	unsigned name_width;
	uint64_t began_ns;
	unsigned drawn;                     /* rows that are there now */
	unsigned widths[CHECK_SCREEN_ROWS]; /* theirs */
};

void check_screen_open(struct check_screen *screen, int fd, unsigned name_width, uint64_t began_ns);
/* Draw the rows anew. BEFORE (may be NULL): text that is printed above them, for good. */
int check_screen_draw(struct check_screen *screen, const struct check *check,
		      const struct str *before);
/* Take the rows away. */
int check_screen_wipe(struct check_screen *screen);
/* They are not where they were: another program has written. */
void check_screen_forget(struct check_screen *screen);
/* "ok  lint  1.20 s  34 MiB": a row with its state in front and its end. */
int check_screen_row(const struct check_screen *screen, const struct check *check, size_t task,
		     unsigned columns, struct str *out, unsigned *ret_width);
