/* SPDX-License-Identifier: MIT */
/*
 * fuzz-hello - bytes as the beginning of a TLS connection. What was decided stays, whatever
 * follows; and it does not matter in which records a handshake comes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "net/hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

static enum hello judge(const uint8_t *bytes, size_t len, char name[NAME_CANONICAL_MAX])
{
	uint8_t *copy = malloc(len ? len : 1);
	enum hello h;

	if (!copy)
		abort();
	memcpy(copy, bytes, len);
	name[0] = '\0';
	h = hello_judge(copy, len, name);
	free(copy);
	check(h == HELLO_MORE || h == HELLO_NONE || h == HELLO_NAME);
	check(strnlen(name, NAME_CANONICAL_MAX) < NAME_CANONICAL_MAX);
	return h;
}

/* The first byte of the input chooses the size of records for the rest of it. */
static void check_records(const uint8_t *data, size_t size, size_t record)
{
	static uint8_t one[5 + 4096], many[6 * 4096];
	char a[NAME_CANONICAL_MAX], b[NAME_CANONICAL_MAX];
	size_t len = 0;

	if (size == 0 || size > 4096)
		return;
	memcpy(one, (const uint8_t[]){22, 3, 1, (uint8_t)(size >> 8), (uint8_t)size}, 5);
	memcpy(one + 5, data, size);
	for (size_t at = 0; at < size; at += record) {
		size_t n = size - at < record ? size - at : record;

		memcpy(many + len, (const uint8_t[]){22, 3, 3, (uint8_t)(n >> 8), (uint8_t)n}, 5);
		memcpy(many + len + 5, data + at, n);
		len += 5 + n;
	}
	check(judge(one, 5 + size, a) == judge(many, len, b) && str_eq(a, b));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[NAME_CANONICAL_MAX], before[NAME_CANONICAL_MAX];
	enum hello whole = judge(data, size, name);

	for (size_t cut = size; cut > 0 && size - cut < 40; cut--) {
		enum hello part = judge(data, cut - 1, before);

		check(part == HELLO_MORE || (part == whole && str_eq(before, name)));
	}
	if (size > 1)
		check_records(data + 1, size - 1, 1 + data[0]);
	return 0;
}
