/* SPDX-License-Identifier: MIT */
/* What parses as a size or duration survives format and parse unchanged; what
 * does not parse is explained, and leaves the result alone. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/size.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef int parse_fn(const char *text, uint64_t *ret, struct err *err);
typedef const char *format_fn(uint64_t value, char buf[SIZE_TEXT_MAX]);

#define UNTOUCHED UINT64_C(0xfedcba9876543210) /* more than 63 bits: no result */

static void check(parse_fn *parse, format_fn *format, const char *text)
{
	uint64_t value = UNTOUCHED, back = UNTOUCHED;
	char buf[SIZE_TEXT_MAX], again[SIZE_TEXT_MAX];
	struct err err = {0};

	if (parse(text, &value, &err) < 0) {
		if (value != UNTOUCHED || !err.message[0] || err.errnum == 0)
			abort();
		return;
	}
	if (value > INT64_MAX || err.message[0])
		abort();
	format(value, buf);
	if (strlen(buf) > strlen(text) || parse(buf, &back, &err) < 0 || back != value)
		abort();
	if (strcmp(format(back, again), buf) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	check(size_parse, size_format, text);
	check(duration_parse, duration_format, text);
	free(text);
	return 0;
}
