/* SPDX-License-Identifier: MIT */
#include "mcp/tail.h"

#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

static void check(size_t max, size_t piece, const char *text, size_t len, const char *want,
		  uint64_t dropped)
{
	struct tail tail = {.max = max};
	_cleanup_(str_release) struct str out = {0};

	for (size_t at = 0; at < len; at += piece)
		tail_add(&tail, text + at, len - at < piece ? len - at : piece);
	tail_text(&tail, &out);
	tap_eq_str(str_text(&out), want, "the last %zu of %zu bytes, by %zu", max, len, piece);
	tap_eq_int((long long)tail_dropped(&tail), (long long)dropped, "what is not there");
	tap_eq_int((long long)tail.total, (long long)len, "and what there was");
	tap_ok(tail.kept.len <= 2 * max, "in bounds");
	tail_release(&tail);
}

int main(void)
{
	for (size_t piece = 1; piece < 12; piece++) {
		check(4, piece, "", 0, "", 0);
		check(4, piece, "abc", 3, "abc", 0);
		check(4, piece, "abcd", 4, "abcd", 0);
		check(4, piece, "abcdefghijk", 11, "hijk", 7);
		check(5, piece, "x\xe2\x82\xacy\xe2\x82\xac", 8, "y\xe2\x82\xac", 3);
	}
	check(8, 3, "a\0b\xff", 4,
	      "a\xef\xbf\xbd"
	      "b\xef\xbf\xbd",
	      0);
	return tap_done();
}
