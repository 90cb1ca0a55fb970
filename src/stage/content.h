/* SPDX-License-Identifier: MIT */
/* content - bytes of regular files: equal, digested, copied. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct node;
struct str;

/* 1: the same bytes; 0: not; or -errno. Reads until the first difference. */
int content_equal(int a, int b);
int content_digest(int fd, char hex[SHA256_HEX]);
/* All of FROM into the empty TO: shared where the file system can, holes kept. */
int content_copy(int from, int to);
/* Has NAME in DIR no attribute at all? Cheaper than to open it, and most have none. */
bool content_is_plain(int dir, const char *name);
/* At most MAX bytes, else -EFBIG. Replaces *RET. */
int content_read(int fd, size_t max, struct str *ret);
