/* SPDX-License-Identifier: MIT */
/* Output is kept whole as long as it fits, then its two ends. */
#include "api/capture.h"

#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

static void check(size_t max, size_t len, size_t piece, const char *want, const char *name)
{
	_cleanup_(capture_release) struct capture capture = {.max = max};
	_cleanup_(str_release) struct str out = {0};
	char text[4096];
	int r = 0;

	for (size_t i = 0; i < len; i++)
		text[i] = (char)('a' + i % 26);
	for (size_t i = 0; i < len && r == 0; i += piece)
		r = capture_add(&capture, text + i, len - i < piece ? len - i : piece);
	tap_ok(r == 0 && capture_text(&capture, &out) == 0, "%s: taken", name);
	tap_eq_str(str_text(&out), want, "%s", name);
	tap_ok(capture.head.cap <= 2 * max + 64 && capture.ring.cap <= 2 * max + 64, "%s: bounded",
	       name);
}

/* Against the plain way, for every size of piece. */
static void check_all(void)
{
	char text[500];
	bool same = true;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 23);
	for (size_t len = 0; len <= sizeof(text); len += 7)
		for (size_t piece = 1; piece < 90; piece++) {
			_cleanup_(capture_release) struct capture capture = {.max = 40};
			_cleanup_(str_release) struct str out = {0}, want = {0};

			for (size_t i = 0; i < len; i += piece)
				capture_add(&capture, text + i, len - i < piece ? len - i : piece);
			capture_text(&capture, &out);
			if (len <= 80) {
				str_append_bytes(&want, text, len);
			} else {
				str_append_bytes(&want, text, 40);
				str_appendf(&want, "\n[%zu bytes are left out here]\n", len - 80);
				str_append_bytes(&want, text + len - 40, 40);
			}
			same = same && out.len == want.len &&
			       memcmp(str_text(&out), str_text(&want), out.len) == 0;
		}
	tap_ok(same, "beginning, number and end are right for every length and piece");
}

int main(void)
{
	check(4, 0, 1, "", "nothing");
	check(4, 8, 3, "abcdefgh", "as much as fits");
	check(4, 9, 3, "abcd\n[1 bytes are left out here]\nfghi", "one byte more");
	check(4, 26, 26, "abcd\n[18 bytes are left out here]\nwxyz", "in one piece");
	check(4, 26, 1, "abcd\n[18 bytes are left out here]\nwxyz", "byte by byte");
	check_all();
	return tap_done();
}
