/* SPDX-License-Identifier: MIT */
/* tail - the last bytes of a stream, and how many there were. */
#pragma once
#include <stdint.h>

#include "base/str.h"

struct tail {
	size_t max;
	uint64_t total;
	struct str kept; /* at most twice max; its last max bytes count */
};

int tail_add(struct tail *tail, const char *bytes, size_t len); /* 0 or -ENOMEM */
/* What is kept, as text: well-formed UTF-8 from a whole character on, without NUL. */
int tail_text(const struct tail *tail, struct str *out);
uint64_t tail_dropped(const struct tail *tail);
void tail_release(struct tail *tail);

/* BYTES as UTF-8 without NUL: what is neither becomes U+FFFD. */
int text_append_clean(struct str *out, const char *bytes, size_t len);
