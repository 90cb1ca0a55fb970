/* SPDX-License-Identifier: MIT */
/* Patterns of names: what they match, what they expand to, what is refused. */
#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "files/pattern.h"
#include "tap.h"

static const struct {
	const char *pattern, *path;
	bool matches;
} rows[] = {
	{"*", "a", true},
	{"*", "a/b", false},
	{"*", ".a", true},
	{"*.c", "a.c", true},
	{"*.c", "d/a.c", false},
	{"**/*.c", "a.c", true},
	{"**/*.c", "d/e/a.c", true},
	{"d/**", "d/e/a", true},
	{"d/**", "e/a", false},
	{"d/**/a", "d/a", true},
	{"d/**/a", "d/x/y/a", true},
	{"d/**/**/a", "d/a", true},
	{"a**b", "axxb", true},
	{"a**b", "a/b", false},
	{"**", "a/b/c", true},
	{"?", "\xc3\xa9", true},
	{"??", "\xc3\xa9", false},
	{"?", "\xff", true},
	{"[a-c]", "b", true},
	{"[!a-c]", "b", false},
	{"[^a-c]", "d", true},
	{"[]]", "]", true},
	{"[]-]", "-", true},
	{"[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", true},
	{"[\\]]", "]", true},
	{"\\*", "*", true},
	{"\\*", "a", false},
	{"\\a", "a", true},
	{"*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
	{"{a,b}.c", "b.c", true},
	{"{a,b}.c", "c.c", false},
	{"{a,b{c,d}}", "bd", true},
	{"{a}", "{a}", true},
	{"{a,b", "{a,b", true},
	{"a,b", "a,b", true},
	{"\\{a,b\\}", "{a,b}", true},
	{"{,a}b", "b", true},
	{"{d/,}x", "d/x", true},
	{"./a", "a", true},
	{"a//b", "a/b", true},
	{"~", "~", true},
	{"$HOME", "$HOME", true},
	{"-x", "-x", true},
};

static void test_rows(void)
{
	for (size_t i = 0; i < array_len(rows); i++) {
		struct pattern p;
		const char *why;
		int r = pattern_compile(rows[i].pattern, false, &p, &why);

		tap_ok(r == 0 && pattern_matches(&p, rows[i].path) == rows[i].matches, "%s %s %s",
		       rows[i].pattern, rows[i].matches ? "matches" : "does not match",
		       rows[i].path);
		pattern_release(&p);
	}
}

static void test_refused(void)
{
	static char many[4096], deep[300];
	const char *const bad[] = {"..", "a/../b", "../a", ".",  "a/.",    "/etc", "/", "",
				   "[a", "a\\",    "[",    "[]", "{..,a}", many,   deep};

	for (int i = 0; i < 12; i++)
		strcat(many, "{a,b}");
	for (int i = 0; i < 70; i++)
		strcat(deep, "a/");
	for (size_t i = 0; i < array_len(bad); i++) {
		struct pattern p;
		const char *why = NULL;
		int r = pattern_compile(bad[i], false, &p, &why);

		tap_ok(r == -EINVAL && why, "refused: %.30s (%s)", bad[i], why ? why : "-");
		pattern_release(&p);
	}
}

static void test_walk(void)
{
	struct pattern p;
	const char *why;
	pattern_places at[8];

	tap_ok(pattern_compile("src/*/{a,b}.c", false, &p, &why) == 0 && p.len == 2,
	       "two branches");
	pattern_start(&p, at);
	pattern_step(&p, at, "doc", at);
	tap_ok(!pattern_can_go_on(&p, at), "nothing below another folder can match");
	pattern_start(&p, at);
	pattern_step(&p, at, "src", at);
	tap_ok(pattern_can_go_on(&p, at) && !pattern_is_match(&p, at),
	       "the first part is on the way");
	pattern_step(&p, at, "x", at);
	pattern_step(&p, at, "b.c", at);
	tap_ok(pattern_is_match(&p, at) && !pattern_can_go_on(&p, at), "and the last is the end");
	pattern_release(&p);
	tap_ok(pattern_compile("d/", false, &p, &why) == 0 && p.only_dirs,
	       "a slash means a folder");
	pattern_release(&p);
}

/* One name against one part: as fnmatch(3) says, where both mean the same. */
static void test_generated(void)
{
	uint32_t chance = 7;
	unsigned differ = 0, asked = 0, matched = 0;

	for (unsigned round = 0; round < 20000; round++) {
		static const char *const parts[] = {"a", "b", "*", "?", "[ab]", "[!a]", "*a", "c"};
		char pattern[64] = "", name[16] = "";
		bool ours, theirs;

		for (unsigned i = 0, n = 1 + (chance >> 16) % 5; i < n; i++) {
			chance = chance * 1664525u + 1013904223u;
			strcat(pattern, parts[(chance >> 16) % array_len(parts)]);
		}
		for (unsigned i = 0, n = 1 + (chance >> 20) % 8; i < n; i++) {
			chance = chance * 1664525u + 1013904223u;
			name[i] = "abc"[(chance >> 16) % 3];
		}
		ours = pattern_matches_name(pattern, name);
		theirs = fnmatch(pattern, name, 0) == 0;
		asked++;
		matched += theirs;
		if (ours != theirs && differ++ < 5)
			tap_note("%s %s: %d, fnmatch %d", pattern, name, ours, theirs);
	}
	tap_ok(matched > asked / 20, "%u of %u match", matched, asked);
	tap_eq_int(differ, 0, "fnmatch(3) says the same");
}

int main(void)
{
	test_rows();
	test_refused();
	test_walk();
	test_generated();
	return tap_done();
}
