/* SPDX-License-Identifier: MIT */
/* Windows of lines, replacements, scans: what is shown and what is changed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "files/replace.h"
#include "files/scan.h"
#include "files/window.h"
#include "tap.h"

static void show(struct window *w, const char *text, uint64_t first, uint64_t limit, size_t step)
{
	size_t len = strlen(text);

	window_init(w, first, limit);
	for (size_t at = 0; at < len; at += step)
		(void)window_add(w, text + at, len - at < step ? len - at : step);
	(void)window_end(w);
}

static void test_windows(void)
{
	static const struct {
		const char *text;
		uint64_t first, limit;
		const char *want;
		uint64_t lines, next;
	} rows[] = {
		{"", 1, 5, "", 0, 0},
		{"a", 1, 5, "a", 1, 0},
		{"a\n", 1, 5, "a\n", 1, 0},
		{"a\nb\nc\n", 1, 2, "a\nb\n", 3, 3},
		{"a\nb\nc\n", 2, 1, "b\n", 3, 3},
		{"a\nb\nc\n", 3, 1, "c\n", 3, 0},
		{"a\nb\nc", 3, 5, "c", 3, 0},
		{"a\nb\nc\n", 4, 1, "", 3, 0},
		{"\n\n\n", 2, 1, "\n", 3, 3},
		{"a\r\nb\r\n", 1, 1, "a\r\n", 2, 2},
		{"a\nb\n", 0, 0, "a\nb\n", 2, 0},
	};

	for (size_t i = 0; i < array_len(rows); i++)
		for (size_t step = 1; step <= 3; step++) {
			struct window w;

			show(&w, rows[i].text, rows[i].first, rows[i].limit, step);
			tap_ok(str_eq(str_text(&w.text), rows[i].want) &&
				       w.lines == rows[i].lines && w.next == rows[i].next,
			       "window %zu in steps of %zu: \"%s\", %llu lines, next %llu", i, step,
			       str_text(&w.text), (unsigned long long)w.lines,
			       (unsigned long long)w.next);
			window_release(&w);
		}
}

static void test_long_lines(void)
{
	_cleanup_(freep) char *text = malloc(3000001);
	struct window w;

	memset(text, 'x', 3000000);
	text[3000000] = '\0';
	memcpy(text + WINDOW_LINE_MAX - 4, "\xe2\x82\xac", 3); /* over the border */
	show(&w, text, 1, 5, 4096);
	tap_ok(w.cut == 1 && w.text.len < WINDOW_LINE_MAX + 40 &&
		       str_ends(w.text.data, " […3000000 bytes]"),
	       "a long line is cut and says how long it is");
	tap_ok(str_is_utf8(w.text.data, w.text.len), "at the border of a character");
	window_release(&w);
	for (size_t i = 99; i < 3000000; i += 100)
		text[i] = '\n';
	show(&w, text, 1, 1000000, 65536);
	tap_ok(w.text.len >= WINDOW_BYTES_MAX && w.text.len < WINDOW_BYTES_MAX + 200 &&
		       w.next == w.shown + 1,
	       "and there is a bound on bytes: %zu, next %llu", w.text.len,
	       (unsigned long long)w.next);
	window_release(&w);
	window_init(&w, 1, 1);
	(void)window_add(&w, "a\nb\0c", 5);
	tap_ok(w.has_nul, "a NUL is seen, also in lines that are not shown");
	window_release(&w);
}

static void expect(const char *text, const char *old, const char *new, size_t count, long replaced,
		   const char *want)
{
	struct str o = {.data = (char *)old, .len = strlen(old)};
	struct str n = {.data = (char *)new, .len = strlen(new)};
	_cleanup_(str_release) struct str out = {0};
	struct replace_found found;

	replace_find(text, strlen(text), old, strlen(old), &found);
	tap_ok(found.count == count &&
		       replace_all(text, strlen(text), &o, &n, 1000, &out) == replaced &&
		       str_eq(str_text(&out), want),
	       "\"%s\" by \"%s\" in \"%s\": %zu places, \"%s\"", old, new, text, found.count,
	       str_text(&out));
}

static void test_replace(void)
{
	struct replace_found found;
	_cleanup_(str_release) struct str out = {0};
	struct str old = {.data = "a\nb", .len = 3}, crlf = {.data = "a\r\nb", .len = 4};

	expect("abc", "b", "X", 1, 1, "aXc");
	tap_eq_int(replace_all("aaaa", 4, &(struct str){.data = "a", .len = 1},
			       &(struct str){.data = "xyz", .len = 3}, 11, &out),
		   -EFBIG, "no more than was asked for is made");
	expect("aaa", "aa", "b", 2, 1, "ba");
	expect("abab", "ab", "", 2, 2, "");
	expect("abc", "x", "y", 0, 0, "abc");
	expect("abc", "abc", "abcabc", 1, 1, "abcabc");
	expect("a\nb\n", "\n", "\r\n", 2, 2, "a\r\nb\r\n");
	replace_find("x\ny x\n\nx", 8, "x", 1, &found);
	tap_ok(found.count == 3 && found.lines[0] == 1 && found.lines[1] == 2 &&
		       found.lines[2] == 4,
	       "the lines of each");
	tap_eq_str(replace_line_ends("a\r\nb\r\n", 6, &old), "CRLF", "a file with CRLF");
	tap_eq_str(replace_line_ends("a\nb\n", 4, &crlf), "LF", "a text with CRLF");
	tap_ok(!replace_line_ends("a b", 3, &old), "neither");
}

static size_t count_plainly(const char *text, size_t len, const char *old, size_t old_len)
{
	size_t n = 0;

	for (size_t i = 0; i + old_len <= len; i++)
		n += memcmp(text + i, old, old_len) == 0;
	return n;
}

/* Every text of two letters has places that overlap, by every period there is. */
static void test_overlaps(void)
{
	enum { LEN = 18 };
	char text[LEN + 1] = {0};
	const unsigned step = getenv("PALE_QUICK") ? 97 : 7;
	size_t wrong = 0, compared = 0;

	for (unsigned bits = 0; bits < 1u << LEN; bits += step) {
		for (int i = 0; i < LEN; i++)
			text[i] = bits >> i & 1 ? 'b' : 'a';
		for (size_t old_len = 1; old_len <= LEN; old_len++) {
			struct replace_found found;

			replace_find(text, LEN, text + bits % (LEN + 1 - old_len), old_len, &found);
			wrong += found.count != count_plainly(text, LEN,
							      text + bits % (LEN + 1 - old_len),
							      old_len);
			compared++;
		}
	}
	tap_ok(wrong == 0 && compared > 10000, "places that overlap: %zu of %zu are wrong", wrong,
	       compared);
}

/* It took the time of a search for each place: half a minute here. */
static void test_huge_text(void)
{
	const size_t len = (getenv("PALE_QUICK") ? 1u : 16u) << 20;
	_cleanup_(freep) char *text = malloc(len + 1);
	struct replace_found found;
	clock_t begin = clock();

	if (!text)
		abort();
	for (size_t i = 0; i < len; i++)
		text[i] = "ab\n"[i % 3];
	for (size_t old_len = 3000; old_len < len; old_len *= 90) {
		replace_find(text, len, text, old_len, &found);
		tap_ok(found.count == (len - old_len) / 3 + 1, "%zu places of %zu bytes in %zu",
		       found.count, old_len, len);
	}
	tap_ok(clock() - begin < 8 * CLOCKS_PER_SEC, "take no time (%.3f s)",
	       (double)(clock() - begin) / CLOCKS_PER_SEC);
}

static void scanned(const char *pattern, bool fixed, bool ignore_case, const char *text,
		    uint64_t context, uint64_t max, long want_count, const char *want)
{
	_cleanup_(str_release) struct str out = {0};
	struct scan scan;
	const char *why;
	long n = -1;

	if (scan_init(&scan, pattern, fixed, ignore_case, &why) == 0)
		n = scan_lines(&scan, text, strlen(text), 1, context, max, &out);
	tap_ok(n == want_count && str_eq(str_text(&out), want), "%s: %ld, %s", pattern, n,
	       str_text(&out));
	scan_release(&scan);
}

static void test_scan(void)
{
	static char lines[10000];
	_cleanup_(str_release) struct str out = {0};
	struct scan scan;
	const char *why;

	scanned("b", true, false, "a\nb\nc\n", 0, 9, 1, "line 7:2 0 m b\n");
	scanned("b", true, false, "a\nb", 0, 9, 1, "line 7:2 0 m b\n");
	scanned("B", true, true, "a\nb", 0, 9, 1, "line 7:2 0 m b\n");
	scanned("a+", false, false, "b\naa\n", 0, 9, 1, "line 8:2 0 m aa\n");
	scanned("a+", true, false, "b\naa\na+\n", 0, 9, 1, "line 8:3 0 m a+\n");
	scanned("x", true, false, "a\nx\nb\nx\nc\n", 1, 9, 2,
		"line 7:1 0 c a\nline 7:2 0 m x\nline 7:3 0 c b\nline 7:4 0 m x\nline 7:5 0 c c\n");
	scanned("x", true, false, "x\nx\nx\n", 0, 2, 3, "line 7:1 0 m x\nline 7:2 0 m x\n");
	scanned("", true, false, "a\n\n", 0, 9, 2, "line 7:1 0 m a\nline 6:2 0 m \n");
	scanned("^$", false, false, "a\n\nb\n", 0, 9, 1, "line 6:2 0 m \n");
	scanned("needle[0-9]", false, false, "needle\nneedle7\n", 0, 9, 1,
		"line 13:2 0 m needle7\n");
	scanned("NEEDLE[0-9]", false, true, "needle\nneedle7\n", 0, 9, 1,
		"line 13:2 0 m needle7\n");
	tap_ok(scan_init(&scan, "a\nb", true, false, &why) == -EINVAL && why,
	       "no pattern goes over a line's end");
	scan_release(&scan);
	memset(lines, 'y', sizeof(lines) - 2);
	(void)scan_init(&scan, "yy", true, false, &why);
	tap_ok(scan_lines(&scan, lines, strlen(lines), 1, 0, 9, &out) == 1 && out.len < 600 &&
		       strstr(str_text(&out), ":1 9486 m y"),
	       "a long line is cut");
	scan_release(&scan);
}

/* Every place, every length: as memmem(3) says. */
static void test_search(void)
{
	unsigned differ = 0, asked = 0;
	char text[48], pattern[8];
	uint32_t chance = 3;

	for (unsigned round = 0; round < 20000; round++) {
		size_t len = 1 + round % 47, n;
		struct scan scan;
		const char *why, *ours, *theirs;

		for (size_t i = 0; i < len; i++) {
			chance = chance * 1664525u + 1013904223u;
			text[i] = "ab\nc"[chance >> 16 & 3];
		}
		n = 1 + (chance >> 20) % 4;
		for (size_t i = 0; i < n; i++) {
			chance = chance * 1664525u + 1013904223u;
			pattern[i] = "abc"[(chance >> 16) % 3];
		}
		pattern[n] = '\0';
		(void)scan_init(&scan, pattern, true, false, &why);
		ours = scan_find(&scan, text, len);
		theirs = memmem(text, len, pattern, n);
		differ += ours != theirs;
		asked++;
		scan_release(&scan);
	}
	tap_eq_int(differ, 0, "memmem(3) says the same, %u times", asked);
}

int main(void)
{
	test_windows();
	test_long_lines();
	test_replace();
	test_overlaps();
	test_huge_text();
	test_scan();
	test_search();
	return tap_done();
}
