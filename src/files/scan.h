/* SPDX-License-Identifier: MIT */
/* scan - the lines of a text that hold what is looked for. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files/regex.h"

struct str;

enum { SCAN_LINE_MAX = 512 }; /* bytes of a line that are shown */

struct scan {
	/* Plain text, folded to lower case if `ignore_case`: what is looked for, or what the
	 * expression needs; or NULL. */
	char *text;
	size_t len;
	size_t skip[256]; /* how far the text can be moved when this byte is at its end */
	bool ignore_case;
	struct regex regex;
	struct matcher *matcher; /* NULL: the text is all */
};

/* FIXED: PATTERN is plain text. -EINVAL: *ret_why. Released whatever the outcome. */
int scan_init(struct scan *scan, const char *pattern, bool fixed, bool ignore_case,
	      const char **ret_why);
void scan_release(struct scan *scan);
/* Somewhere in the first line that matches; NULL: there is none. */
const char *scan_find(struct scan *scan, const char *text, size_t len);

/* Append the lines that match as "line" fields of a reply, with CONTEXT lines around each, at
 * most MAX matching ones. FIRST is the number of the first line of TEXT. Returns how many lines
 * match, one more than MAX at most; or -ENOMEM. */
long scan_lines(struct scan *scan, const char *text, size_t len, uint64_t first, uint64_t context,
		uint64_t max, struct str *out);
