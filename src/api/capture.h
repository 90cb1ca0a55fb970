/* SPDX-License-Identifier: MIT */
/*
 * capture - the output of a command within bounds: its beginning and its end; what was
 * between them is counted.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct capture {
	size_t max; /* bytes of the beginning, and again of the end */
	struct str head;
	struct str ring; /* the last bytes, oldest at `at` once it is full */
	size_t at;
	uint64_t dropped;
};

void capture_release(struct capture *capture);
int capture_add(struct capture *capture, const char *bytes, size_t len); /* 0 or -ENOMEM */
/* Everything that was kept; where bytes are missing a line says how many. */
int capture_text(const struct capture *capture, struct str *out);
