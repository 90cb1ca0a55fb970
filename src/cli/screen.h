/* SPDX-License-Identifier: MIT */
/*
 * screen - the whole terminal: raw keys in, rows out, and everything as it was
 * before on every way out, signals included.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "stage/patch.h"

struct err;

enum key {
	KEY_NONE = 0, /* nothing, but draw again: another size, back from a stop */
	KEY_ESCAPE = 27,
	KEY_UP = 256,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_HANG_UP, /* the terminal or the user wants us gone */
};

struct screen {
	unsigned rows, columns; /* as of the last key */
	bool colour;
	struct str out; /* what is being drawn */
};

/* -ENOTTY: standard input and output are no terminal. There is one at a time. */
int screen_open(struct screen *screen, struct err *err);
void screen_close(struct screen *screen);
/* Wait for a key: a byte, or one of enum key. Ctrl-Z is seen to here. */
int screen_key(struct screen *screen);

/* The signal behind KEY_HANG_UP, or 0. */
int screen_signal(void);

/* Draw: begin, exactly `rows` rows, end. */
void screen_begin(struct screen *screen);
/* TEXT is cut at the screen's width; control characters are escaped. */
void screen_row(struct screen *screen, const char *colour, const char *text);
void screen_end(struct screen *screen);

/* Lines, wrapped to a width: nothing is out of sight to the right. */
struct rows {
	struct row {
		enum patch_line kind;
		char *text;
	} * items;
	size_t n, cap;
	unsigned width;
	int error;
};

void rows_release(struct rows *rows);
/* A patch_line_fn; DATA is a struct rows. A row that goes on begins with '>', which no
 * line of a patch does. */
int rows_add(void *data, enum patch_line kind, const char *text, size_t len);
