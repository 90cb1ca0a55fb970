/* SPDX-License-Identifier: MIT */
#include "mcp/tail.h"

#include <string.h>

int tail_add(struct tail *tail, const char *bytes, size_t len)
{
	size_t excess;
	int r;

	tail->total += len;
	if (len > tail->max) {
		bytes += len - tail->max;
		len = tail->max;
	}
	r = str_append_bytes(&tail->kept, bytes, len);
	if (r < 0 || tail->kept.len <= 2 * tail->max)
		return r;
	excess = tail->kept.len - tail->max;
	memmove(tail->kept.data, tail->kept.data + excess, tail->max);
	str_truncate(&tail->kept, tail->max);
	return 0;
}

static size_t excess(const struct tail *tail)
{
	return tail->kept.len > tail->max ? tail->kept.len - tail->max : 0;
}

uint64_t tail_dropped(const struct tail *tail)
{
	return tail->total - (tail->kept.len - excess(tail));
}

int text_append_clean(struct str *out, const char *bytes, size_t len)
{
	int r = 0;

	for (size_t i = 0, n; i < len && r == 0; i += n ? n : 1) {
		uint32_t c = 0;

		n = str_utf8_next(bytes + i, len - i, &c);
		r = n > 0 && c != 0 ? str_append_bytes(out, bytes + i, n)
				    : str_append(out, "\xef\xbf\xbd");
	}
	return r;
}

int tail_text(const struct tail *tail, struct str *out)
{
	const char *bytes = str_text(&tail->kept);
	size_t at = excess(tail), len = tail->kept.len;

	/* The cut may be inside of a character. */
	for (int i = 0; i < 3 && tail_dropped(tail) > 0 && at < len; i++)
		at += (bytes[at] & 0xc0) == 0x80;
	return text_append_clean(out, bytes + at, len - at);
}

void tail_release(struct tail *tail)
{
	str_release(&tail->kept);
	tail->total = 0;
}
