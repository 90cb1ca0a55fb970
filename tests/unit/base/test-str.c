/* SPDX-License-Identifier: MIT */
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

static void test_append(void)
{
	_cleanup_(str_release) struct str s = {0};
	bool same = true;

	tap_eq_str(str_text(&s), "", "an empty str has a text");
	tap_ok(str_append(&s, "") == 0 && s.data && s.len == 0, "appending nothing terminates");
	tap_eq_int(str_append(&s, "one"), 0, "append");
	tap_eq_int(str_append_char(&s, ' '), 0, "append a character");
	tap_eq_int(str_appendf(&s, "%d-%s", 2, "three"), 0, "append formatted");
	tap_eq_str(s.data, "one 2-three", "all of it is there");
	tap_eq_int(s.len, 11, "and counted");
	tap_eq_int(str_append_bytes(&s, "a\0b", 3), 0, "append bytes with a NUL");
	tap_ok(s.len == 14 && memcmp(s.data + 11, "a\0b", 4) == 0, "NUL inside and behind");

	tap_eq_int(str_append_bytes(&s, "", SIZE_MAX - 4), -ENOMEM, "an impossible size");
	tap_ok(s.len == 14 && s.data[14] == '\0', "a failed append changes nothing");

	str_truncate(&s, 20);
	tap_eq_int(s.len, 14, "truncate does not grow");
	str_truncate(&s, 3);
	tap_eq_str(s.data, "one", "truncate");
	str_truncate(&s, 0);
	for (int i = 0; i < 10000; i++)
		str_append_char(&s, (char)('a' + i % 26));
	for (int i = 0; i < 10000; i++)
		same = same && s.data[i] == 'a' + i % 26;
	tap_ok(same && s.len == 10000 && strlen(s.data) == 10000, "grows to 10000 bytes");
	str_release(&s);
	tap_ok(!s.data && s.len == 0 && s.cap == 0, "release empties");
}

static void test_compare(void)
{
	_cleanup_(freep) char *text = str_printf("%s-%03d", "x", 7);

	tap_eq_str(text, "x-007", "str_printf");
	tap_ok(str_eq("a", "a") && !str_eq("a", "b"), "str_eq compares");
	tap_ok(str_eq(NULL, NULL) && !str_eq(NULL, "") && !str_eq("", NULL), "NULL equals NULL");
	tap_ok(str_starts("abc", "ab") && str_starts("abc", "") && !str_starts("ab", "abc"),
	       "str_starts");
	tap_ok(str_ends("abc", "bc") && str_ends("abc", "") && !str_ends("bc", "abc") &&
		       !str_ends("abc", "ab"),
	       "str_ends");
}

static void test_utf8(void)
{
	static const struct {
		const char *text;
		size_t len;
		uint32_t c;
	} cases[] = {
		{"A", 1, 'A'},
		{"\xc2\x80", 2, 0x80},
		{"\xdf\xbf", 2, 0x7ff},
		{"\xe0\xa0\x80", 3, 0x800},
		{"\xe2\x82\xac", 3, 0x20ac},
		{"\xef\xbf\xbf", 3, 0xffff},
		{"\xf0\x90\x80\x80", 4, 0x10000},
		{"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
		{"\xf4\x90\x80\x80", 0, 0}, /* past the last character */
		{"\xc0\xaf", 0, 0},         /* overlong "/" */
		{"\xe0\x80\xaf", 0, 0},     /* the same in three bytes */
		{"\xf0\x80\x80\xaf", 0, 0}, /* and in four */
		{"\xed\xa0\x80", 0, 0},     /* a surrogate */
		{"\x80", 0, 0},             /* a continuation alone */
		{"\xff", 0, 0},             /* never valid */
		{"\xe2\x82", 0, 0},         /* cut short */
		{"\xe2\x28\xa1", 0, 0},     /* a wrong continuation */
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		uint32_t c = 0;
		size_t n = str_utf8_next(cases[i].text, strlen(cases[i].text), &c);

		tap_ok(n == cases[i].len && c == cases[i].c, "utf8 case %zu", i);
	}
	tap_eq_int(str_utf8_next("", 0, &(uint32_t){0}), 0, "no character in nothing");
	tap_eq_int(str_utf8_next("\xe2\x82\xac", 2, &(uint32_t){0}), 0, "none past the length");
}

static void test_escaped(void)
{
	static const struct {
		const char *text;
		const char *want;
	} cases[] = {
		{"plain text", "plain text"},
		{"gr\xc3\xbc\xc3\x9f\xe2\x82\xac\xf0\x9f\x98\x80",
		 "gr\xc3\xbc\xc3\x9f\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"\x1b[31mred\x07", "\\x1b[31mred\\x07"},
		{"a\nb\tc\x7f", "a\\x0ab\\x09c\\x7f"},
		{"\xff\xfe", "\\xff\\xfe"},
		{"a\xc3", "a\\xc3"},
		{"\xc0\xaf", "\\xc0\\xaf"},
		{"x\xe2\x80\xaey", "x\\u{202e}y"},
		{"\xe2\x81\xa6\xe2\x81\xa9", "\\u{2066}\\u{2069}"},
		{"\xe2\x80\xa8", "\\u{2028}"},
		{"\xc2\x9b", "\\u{9b}"},
		{"a\xe3\x85\xa4\xef\xbe\xa0z", "a\\u{3164}\\u{ffa0}z"},
		{"\xef\xb8\x80\xf3\xa0\x84\x80\xf3\xa0\x81\x81", "\\u{fe00}\\u{e0100}\\u{e0041}"},
		{"\xe2\x80\x8d\xcd\x8f", "\\u{200d}\\u{34f}"},
		{"", ""},
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(str_release) struct str s = {0};

		str_append_escaped(&s, cases[i].text, strlen(cases[i].text));
		tap_eq_str(s.data, cases[i].want, "escaped case %zu", i);
	}
	_cleanup_(str_release) struct str s = {0};
	str_append_escaped(&s, "a\0b", 3);
	tap_eq_str(s.data, "a\\x00b", "a NUL is escaped");
}

static void test_nearest(void)
{
	static const char *const names[] = {"network", "timeout",   "memory",
					    "json",    "read-only", "x"};
	static const struct {
		const char *word;
		const char *want;
	} cases[] = {
		{"netwrko", "network"},
		{"netwrk", "network"},
		{"timeoutt", "timeout"},
		{"mmeory", "memory"},
		{"jsno", "json"},
		{"read_only", "read-only"},
		{"JSON", "json"},
		{"network", "network"},
		{"frobnicate", NULL},
		{"", NULL},
		{"y", NULL},
		{"jxyz", NULL},
		{"net", NULL},
	};
	char long_word[200];

	for (size_t i = 0; i < array_len(cases); i++)
		tap_eq_str(str_nearest(cases[i].word, names, array_len(names)), cases[i].want,
			   "nearest to \"%s\"", cases[i].word);
	memset(long_word, 'n', sizeof(long_word));
	long_word[sizeof(long_word) - 1] = '\0';
	tap_eq_str(str_nearest(long_word, names, array_len(names)), NULL, "a long word");
	tap_eq_str(str_nearest("json", (const char *[]){long_word}, 1), NULL, "a long candidate");
	tap_eq_str(str_nearest("json", NULL, 0), NULL, "no candidates");
}

static void test_word(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"/usr/share/a_b-c.d", "/usr/share/a_b-c.d"},
		{"~/x", "~/x"},
		{"~x", "'~x'"},
		{"", "''"},
		{"a b", "'a b'"},
		{"$(id)", "'$(id)'"},
		{"it's", "'it'\\''s'"},
		{"a\\b", "'a\\b'"},
		{"sch\xc3\xb6n", "sch\xc3\xb6n"},
		{"a\nb'\\", "$'a\\x0ab\\'\\\\'"},
		{"\xff", "$'\\xff'"},
		{"a\xe2\x80\xae"
		 "b",
		 "$'a\\xe2\\x80\\xaeb'"},
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(str_release) struct str got = {0};

		tap_ok(str_append_word(&got, cases[i].text) == 0, "a word");
		tap_eq_str(str_text(&got), cases[i].want, "as a word of a shell: %s",
			   cases[i].want);
	}
}

int main(void)
{
	test_append();
	test_compare();
	test_utf8();
	test_escaped();
	test_nearest();
	test_word();
	return tap_done();
}
