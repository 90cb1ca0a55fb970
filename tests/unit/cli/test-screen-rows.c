/* SPDX-License-Identifier: MIT */
/* Whatever a line holds, its rows fit the screen, lose nothing and obey nothing. */
#include <string.h>

#include "base/cleanup.h"
#include "cli/screen.h"
#include "view/width.h"
#include "tap.h"

static void check(unsigned width, enum patch_line kind, const char *line, size_t len,
		  const char *want, const char *name)
{
	_cleanup_(rows_release) struct rows rows = {.width = width};
	_cleanup_(str_release) struct str got = {0};

	tap_ok(rows_add(&rows, kind, line, len) == 0, "%s: added", name);
	for (size_t i = 0; i < rows.n; i++) {
		str_append(&got, rows.items[i].text);
		str_append_char(&got, '|');
	}
	tap_eq_str(str_text(&got), want, "%s", name);
}

#define CHECK(width, kind, line, want, name) check(width, kind, line, sizeof(line) - 1, want, name)

static unsigned columns(const char *text)
{
	size_t len = strlen(text);
	unsigned width = 0;

	while (len > 0) {
		uint32_t c = 0;
		size_t n = str_utf8_next(text, len, &c);

		width += char_width(c);
		text += n ? n : 1;
		len -= n ? n : 1;
	}
	return width;
}

/* Random bytes, random widths: no row is too wide, none has a control character. */
static void test_random(void)
{
	unsigned seed = 7, bad = 0, rows_seen = 0;

	for (int round = 0; round < 3000; round++) {
		_cleanup_(rows_release) struct rows rows = {.width = 4 + round % 40};
		char line[200];
		size_t len = (size_t)round % sizeof(line);

		for (size_t i = 0; i < len; i++)
			line[i] = (char)((seed = seed * 1103515245 + 12345) >> 16);
		if (rows_add(&rows, PATCH_ADDED, line, len) < 0)
			bad++;
		for (size_t i = 0; i < rows.n; i++, rows_seen++) {
			const char *text = rows.items[i].text;

			bad += columns(text) > rows.width;
			for (const char *p = text + (i == 0); *text && *p; p++)
				bad += (unsigned char)*p < 0x20 || *p == 0x7f;
		}
	}
	tap_ok(bad == 0 && rows_seen > 3000, "random bytes: %u of %u rows are bad", bad, rows_seen);
}

int main(void)
{
	CHECK(10, PATCH_ADDED, "+short\n", "+short|", "a short line");
	CHECK(10, PATCH_CONTEXT, " \n", " |", "an empty one");
	CHECK(10, PATCH_ADDED, "+123456789\n", "+123456789|", "exactly as wide");
	CHECK(10, PATCH_ADDED, "+1234567890\n", "+123456789|>0|",
	      "one more goes on in the next row");
	CHECK(6, PATCH_REMOVED, "-abcdefghijklm", "-abcde|>fghij|>klm|", "and on");
	CHECK(20, PATCH_ADDED, "+\tx\n", "+        x|", "a tab counts from behind the mark");
	CHECK(20, PATCH_ADDED, "+ab\tx\n", "+ab      x|", "to the next stop");
	CHECK(6, PATCH_ADDED, "+\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\n",
	      "+\xe6\xbc\xa2\xe6\xbc\xa2|>\xe6\xbc\xa2|", "wide characters are not cut in two");
	CHECK(6, PATCH_ADDED, "+e\xcc\x81xyzw\n", "+e\xcc\x81xyzw|", "combining ones take no room");
	CHECK(40, PATCH_ADDED, "+\x1b[2J\r\xff\xe2\x80\xaex\n", "+\\x1b[2J\\x0d\\xff\\u{202e}x|",
	      "what could deceive is escaped");
	CHECK(6, PATCH_ADDED, "+\x1b\x1b\n", "+\\x1b\\|>x1b|", "and counted as it is shown");
	CHECK(80, PATCH_HEADER, "new file mode 100644\n", "new file mode 100644|", "a header");
	test_random();
	return tap_done();
}
