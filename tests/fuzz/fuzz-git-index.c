/* SPDX-License-Identifier: MIT */
/* Whatever is in an index of git: it is like itself or no index, and comparing reads nothing else. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sha1.h"
#include "base/str.h"
#include "stage/git-index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A sum is hard to guess. */
static int add_sum(const uint8_t *data, size_t size, struct str *out)
{
	uint8_t sum[SHA1_SIZE];
	struct sha1 hash;
	int r = str_append_bytes(out, data, size);

	sha1_init(&hash);
	sha1_add(&hash, data, size);
	sha1_end(&hash, sum);
	return r < 0 ? r : str_append_bytes(out, sum, sizeof(sum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(str_release) struct str one = {0}, other = {0};
	size_t half = size / 2;

	if (add_sum(data, half, &one) < 0 || add_sum(data + half, size - half, &other) < 0)
		return 0;
	if (git_index_is_same(one.data, one.len, other.data, other.len) !=
	    git_index_is_same(other.data, other.len, one.data, one.len))
		abort();
	(void)git_index_is_same(one.data, one.len, one.data, one.len);
	(void)git_index_is_same((const char *)data, size, (const char *)data, size);
	return 0;
}
