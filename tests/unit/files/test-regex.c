/* SPDX-License-Identifier: MIT */
/* What expressions mean, one by one; what is refused; generated ones against the C library's. */
#include <errno.h>
#include <locale.h>
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "files/regex.h"
#include "tap.h"

static const struct {
	const char *pattern, *text;
	bool matches;
} rows[] = {
	{"abc", "xxabcx", true},
	{"abc", "ab\nc", false},
	{"^abc", "xabc", false},
	{"^abc", "x\nabc", true},
	{"abc$", "abc\nx", true},
	{"abc$", "abcx\n", false},
	{"^$", "a\n\nb\n", true},
	{"^$", "a\nb\n", false},
	{"^$", "a\n", false},
	{"a.c", "a\nc", false},
	{"a.c",
	 "a\xc3\xa9"
	 "c",
	 true},
	{"^.{2}$", "\xc3\xa9", false},
	{"^.$", "\xc3\xa9\n", true},
	{"^.$", "\xe2\x82\xac", true},
	{"^.$", "\xf0\x9f\x98\x80", true},
	{"^.$", "\xff", false},
	{"[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", true},
	{"[\xc3\xa0-\xc3\xbf]", "e", false},
	{"[^a]", "a\na", false},
	{"[^a]", "\xc3\xa9", true},
	{"[]a]", "]", true},
	{"[^]a]", "]", false},
	{"[a-]", "-", true},
	{"[[:digit:]]+x", "a12x", true},
	{"[[:digit:][:upper:]]{2}", "a1Z", true},
	{"[0-9]{4}-[0-9]{2}", "on 2024-11", true},
	{"[0-9]{4}-[0-9]{2}", "on 202-11", false},
	{"a{0}b", "b", true},
	{"a{2,}", "a", false},
	{"a{2,}", "baaa", true},
	{"^a{,2}$", "aaa", false},
	{"^a{,2}$", "aa", true},
	{"a{", "a{", true},
	{"a{x}", "a{x}", true},
	{"{", "{", true},
	{"(ab|cd)+e", "abcde", true},
	{"(ab|cd)+e", "ae", false},
	{"()", "x", true},
	{"a|", "x", true},
	{"(?:ab)c", "abc", true},
	{"\\.", "a", false},
	{"\\.", ".", true},
	{"\\(\\)", "()", true},
	{"\\w+@\\w+", "me@home", true},
	{"\\d\\s\\D", "1 x", true},
	{"\\S\\W", "a ", true},
	{"[\\w-]+x", "-x", true},
	{"\\bfoo\\b", "a foo b", true},
	{"\\bfoo\\b", "foobar", false},
	{"\\bfoo\\b", "foo", true},
	{"\\bfoo\\b", "x\nfoo\ny", true},
	{"\\Bfoo", "xfoo", true},
	{"\\Bfoo", "foo", false},
	{"\\<foo", "xfoo foo", true},
	{"foo\\>", "foox", false},
	{"foo\\>", "foox foo", true},
	{"(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", false},
	{"(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", false},
	{"x*", "", false}, /* no line at all */
	{"x*", "\n", true},
};

static bool finds(const char *pattern, bool ignore_case, const char *text, const char **ret_why)
{
	struct regex regex;
	struct matcher *m = NULL;
	bool found = false;

	*ret_why = NULL;
	if (regex_compile(pattern, ignore_case, &regex, ret_why) == 0) {
		m = matcher_new(&regex);
		found = m && *text && matcher_find(m, text, strlen(text));
	}
	matcher_free(m);
	regex_release(&regex);
	return found;
}

static void test_rows(void)
{
	const char *why;

	for (size_t i = 0; i < array_len(rows); i++)
		tap_ok(finds(rows[i].pattern, false, rows[i].text, &why) == rows[i].matches && !why,
		       "%s %s", rows[i].pattern, rows[i].matches ? "matches" : "does not match");
	tap_ok(finds("HeLLo", true, "hEllO", &why), "either case");
	tap_ok(finds("[a-c]X", true, "Bx", &why), "either case in a set");
	tap_ok(!finds("[^a]", true, "A", &why), "either case in what is left out");
	tap_ok(finds("(a|b)*c|d", false, "d", &why), "the second branch");
}

static void test_refused(void)
{
	static const char *const bad[] = {"(",
					  "a)",
					  "[",
					  "[a",
					  "[[:nope:]]",
					  "*a",
					  "a\\",
					  "[b-a]",
					  "a{2,1}",
					  "a{1001}",
					  "+",
					  "(|*)",
					  "\\q",
					  "\\1",
					  "[[.a.]]",
					  "\xff",
					  "[\xff]",
					  "(((((",
					  "[[:w:]]",
					  "((((a{1000}){1000}){1000}){1000})",
					  "((((){1000}){1000}){1000}){1000}"};

	for (size_t i = 0; i < array_len(bad); i++) {
		const char *why = NULL;
		struct regex regex;
		int r = regex_compile(bad[i], false, &regex, &why);

		tap_ok(r == -EINVAL && why && *why, "refused: %s (%s)", bad[i], why ? why : "-");
		regex_release(&regex);
	}
}

static void test_must(void)
{
	static const struct {
		const char *pattern, *must;
		bool ignore_case;
	} musts[] = {
		{"abc", "abc", false},
		{"[0-9]{4}-[0-9]{2}", "-", false},
		{"foo[a-z]+barbaz", "barbaz", false},
		{"(foo|bar)qux?", "qu", false},
		{"a|b", "", false},
		{"(abc){2}d", "abc", false},
		{"(abc)*d", "d", false},
		{"^foo$", "foo", false},
		{"HuT", "hut", true},
		{"x\xc3\xa9y", "x\xc3\xa9y", false},
	};

	for (size_t i = 0; i < array_len(musts); i++) {
		const char *why;
		struct regex regex;

		(void)regex_compile(musts[i].pattern, musts[i].ignore_case, &regex, &why);
		tap_eq_str(regex.must, musts[i].must, "what %s must hold", musts[i].pattern);
		regex_release(&regex);
	}
}

static uint32_t chance;

static unsigned roll(unsigned sides)
{
	chance = chance * 1664525u + 1013904223u;
	return (chance >> 16) % sides;
}

static void generate(char *out, size_t size, unsigned depth)
{
	static const char *const atoms[] = {"a",    "b",     "c",     ".",    "[ab]",
					    "[^a]", "[a-c]", "(a|b)", "(ab)", "[[:alpha:]]",
					    "^",    "$",     "\\."};
	static const char *const counts[] = {"", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,1}"};
	unsigned parts = 1 + roll(4);
	size_t len = strlen(out);

	for (unsigned i = 0; i < parts && len + 40 < size; i++) {
		unsigned kind = roll(10);

		if (kind == 0 && depth < 3) {
			strcat(out, "(");
			generate(out, size - 10, depth + 1);
			strcat(out, ")");
		} else if (kind == 1 && i > 0 && i + 1 < parts) {
			strcat(out, "|");
			continue;
		} else {
			const char *atom = atoms[roll(array_len(atoms))];

			/* repeated, the C library gets them wrong */
			if (depth > 0 && (*atom == '^' || *atom == '$'))
				atom = "a";

			strcat(out, atom);
			if (*atom == '^' || *atom == '$')
				continue;
		}
		strcat(out, counts[roll(array_len(counts))]);
		len = strlen(out);
	}
	if (out[strlen(out) - 1] == '|')
		strcat(out, "a");
}

/* The same question to regexec(3), line by line. */
static void test_generated(void)
{
	const unsigned rounds = getenv("PALE_QUICK") ? 400 : 4000;
	unsigned asked = 0, found = 0, differ = 0, skipped = 0;

	for (unsigned round = 0; round < rounds; round++) {
		char pattern[200] = "";
		regex_t theirs;

		generate(pattern, sizeof(pattern) - 40, 0);
		if (regcomp(&theirs, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
			skipped++;
			continue;
		}
		for (unsigned k = 0; k < 10; k++) {
			static const char letters[] = "aabbc. xd";
			char text[16] = "";
			unsigned len = roll(12);
			const char *why = NULL;
			bool ours, theirs_found;

			for (unsigned i = 0; i < len; i++)
				text[i] = letters[roll(sizeof(letters) - 1)];
			theirs_found = regexec(&theirs, text, 0, NULL, 0) == 0;
			text[len] = '\n';
			ours = finds(pattern, false, text, &why);
			asked++;
			found += theirs_found;
			if (ours != theirs_found && differ++ < 5)
				tap_note("%s on %s: %d, regexec %d (%s)", pattern, text, ours,
					 theirs_found, why ? why : "");
		}
		regfree(&theirs);
	}
	tap_ok(asked > rounds * 5 && found > asked / 10, "%u questions, %u matches, %u not asked",
	       asked, found, skipped);
	tap_eq_int(differ, 0, "regexec(3) says the same");
}

/* So many states that they have to be forgotten on the way. */
static void test_forgetting(void)
{
	static char text[200001];
	const char *why;
	char *end = text + 200000;

	for (char *at = text; at < end; at++)
		*at = "ab"[roll(2)];
	memcpy(end - 24, "axxxxxxxxxxxxxxxxxxxxxxx", 24);
	tap_ok(!finds("a[ab]{16}c", false, text, &why) && !why, "many states, no match");
	end[-1] = 'c';
	tap_ok(finds("a[abx]{14}c|axxxxxxxxxxxxxxxxxxxxxxc", false, text, &why),
	       "many states, and a match at the end");
}

int main(void)
{
	test_rows();
	test_refused();
	test_must();
	test_generated();
	test_forgetting();
	return tap_done();
}
