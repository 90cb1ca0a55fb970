/* SPDX-License-Identifier: MIT */
/* source-function - the function that a line of a source file is in, by its looks. */
#pragma once
#include <stddef.h>

struct source_lines {
	const char **items; /* not ended by NUL */
	size_t *lens;
	size_t len;
};

/* Split TEXT, which must outlive it. 0 or -ENOMEM. */
int source_lines_init(struct source_lines *lines, const char *text, size_t len);
void source_lines_release(struct source_lines *lines);

/* The name, in BUF, of what encloses line NUMBER (from 1) of the file PATH: a function,
 * a class, a target of make. NULL: none is seen. */
#define SOURCE_FUNCTION_MAX 96
const char *source_function(const struct source_lines *lines, const char *path, size_t number,
			    char buf[SOURCE_FUNCTION_MAX]);
