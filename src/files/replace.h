/* SPDX-License-Identifier: MIT */
/* replace - exact text by other text. Pure. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum { REPLACE_LINES_MAX = 10 };

/* Where a text is found in another one. */
struct replace_found {
	size_t count;                    /* places, overlapping ones too */
	size_t lines[REPLACE_LINES_MAX]; /* of the first of them, from 1 on */
};

void replace_find(const char *text, size_t len, const char *old, size_t old_len,
		  struct replace_found *ret);
/* Append TEXT with each OLD, from left to right and not overlapping, replaced by NEW. Returns
 * how many there were, -EFBIG when OUT would be longer than MAX, or -ENOMEM. */
long replace_all(const char *text, size_t len, const struct str *old, const struct str *new,
		 size_t max, struct str *out);
/* OLD is not there: would it be with other line ends? "CRLF", "LF" or NULL: what TEXT has. */
const char *replace_line_ends(const char *text, size_t len, const struct str *old);
