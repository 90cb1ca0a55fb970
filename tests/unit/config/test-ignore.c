/* SPDX-License-Identifier: MIT */
/*
 * The rules of gitignore(5) one by one; what is refused; and generated patterns
 * against git itself.
 */
#include <errno.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/proc.h"
#include "base/str.h"
#include "config/ignore.h"
#include "scratch.h"
#include "tap.h"

struct row {
	const char *rules;
	const char *path; /* a folder when it ends in a slash */
	bool hidden;
	const char *why;
};

static const struct row rows[] = {
	{"", "a", false, "no rule hides nothing"},
	{"\n\n", "a", false, "a blank line matches nothing"},
	{"# a\n", "# a", false, "a comment"},
	{"#a\n", "#a", false, "a comment is no pattern"},
	{"\\#a\n", "#a", true, "an escaped hash"},
	{" #a\n", " #a", true, "a hash that is not the first byte"},
	{"a  \n", "a", true, "trailing blanks do not count"},
	{"a\\ \n", "a ", true, "an escaped trailing blank does"},
	{"a\\ \n", "a", false, "and is part of the name"},
	{"a\\   \n", "a ", true, "blanks behind an escaped one do not count"},
	{"a b\n", "a b", true, "a blank inside"},
	{" a\n", " a", true, "a leading blank counts"},
	{" a\n", "a", false, "a leading blank counts"},
	{"   \n", " ", false, "a line of blanks is blank"},
	{"a\r\n", "a", true, "lines may end in CR LF"},
	{"a \r\n", "a", true, "with blanks before it"},
	{"a\r", "a", true, "also the last one"},
	{"a", "a", true, "the last line needs no newline"},
	{"\xef\xbb\xbf"
	 "a\n",
	 "a", true, "a byte order mark is skipped"},
	{"*.c\n!a.c\n", "a.c", false, "negation"},
	{"*.c\n!a.c\n", "b.c", true, "of one file only"},
	{"!a.c\n*.c\n", "a.c", true, "the last match wins"},
	{"!a\n", "a", false, "negation alone"},
	{"*\n!*\n*.c\n!a.c\n", "a.c", false, "several turns"},
	{"\\!a\n", "!a", true, "an escaped exclamation mark"},
	{"d\n!d/a\n", "d/a", true, "nothing below a hidden folder comes back"},
	{"d/*\n!d/a\n", "d/a", false, "but what is in one that is not hidden"},
	{"d/*\n!d/a\n", "d/b", true, "the rest of it stays hidden"},
	{"/*\n!/d\n/d/*\n!/d/e\n", "d/e/f", false, "the example of the manual"},
	{"/*\n!/d\n/d/*\n!/d/e\n", "d/x", true, "the example of the manual"},
	{"/*\n!/d\n/d/*\n!/d/e\n", "x/e", true, "the example of the manual"},
	{"a\n", "a", true, "a name at the top"},
	{"a\n", "d/e/a", true, "a name anywhere"},
	{"a\n", "a/b/c", true, "everything below it"},
	{"a\n", "ab", false, "whole names only"},
	{"/a\n", "a", true, "anchored by a leading slash"},
	{"/a\n", "d/a", false, "and nowhere else"},
	{"d/a\n", "d/a", true, "anchored by a slash in the middle"},
	{"d/a\n", "e/d/a", false, "and nowhere else"},
	{"d/a\n", "d/a/b", true, "everything below it"},
	{"/d/a\n", "d/a", true, "a leading slash more changes nothing"},
	{"a/\n", "a/", true, "a trailing slash: a folder"},
	{"a/\n", "a", false, "and no file"},
	{"a/\n", "d/a/", true, "does not anchor"},
	{"a/\n", "d/a/b", true, "what is in it is hidden"},
	{"d/a/\n", "e/d/a/", false, "two slashes: the first one anchors"},
	{"*\n", "a", true, "a star"},
	{"*\n", ".a", true, "takes leading dots"},
	{"a*\n", "a", true, "a star can be empty"},
	{"a*c\n", "abbc", true, "a star inside"},
	{"a*c\n", "ab", false, "with its end"},
	{"*a*b*c*\n", "xxaxxbxxcxx", true, "many stars"},
	{"*a*b*c*\n", "xxaxxcxxbxx", false, "in order"},
	{"d/*\n", "d/a", true, "a star in a path"},
	{"d/*/c\n", "d/a/c", true, "stands for one name"},
	{"d/*/c\n", "d/a/b/c", false, "does not cross a slash"},
	{"d/*c\n", "d/a/c", false, "does not cross a slash"},
	{"a?c\n", "abc", true, "a question mark"},
	{"a?c\n", "ac", false, "is one byte"},
	{"a?c\n",
	 "a\xc3\xa4"
	 "c",
	 false, "and not two"},
	{"a??c\n",
	 "a\xc3\xa4"
	 "c",
	 true, "a character of two bytes"},
	{"d?a\n", "d/a", false, "no question mark matches a slash"},
	{"d/a?c\n", "d/a/c", false, "no question mark matches a slash"},
	{"[ab]\n", "b", true, "a set"},
	{"[ab]\n", "c", false, "a set"},
	{"[a-c]\n", "b", true, "a range"},
	{"[a-c]\n", "B", false, "case counts"},
	{"[!a-c]\n", "d", true, "a negated set"},
	{"[!a-c]\n", "b", false, "a negated set"},
	{"[^a-c]\n", "d", true, "the other sign of negation"},
	{"[]a]\n", "]", true, "a closing bracket first"},
	{"[!]a]\n", "b", true, "also when negated"},
	{"[!]a]\n", "]", false, "also when negated"},
	{"[a-]\n", "-", true, "a hyphen last"},
	{"[-a]\n", "-", true, "a hyphen first"},
	{"[\\]]\n", "]", true, "an escaped bracket"},
	{"[a\\-c]\n", "b", false, "an escaped hyphen"},
	{"[[:digit:]]\n", "7", true, "a class"},
	{"[[:digit:]]\n", "a", false, "a class"},
	{"[![:digit:]_]\n", "a", true, "a class among others"},
	{"[[:alpha:][:digit:]]\n", "7", true, "two classes"},
	{"[[:upper:]-]\n", "-", true, "a hyphen behind a class"},
	{"[[:a]\n", "[", true, "no class, but a set"},
	{"[\xc3\xa4]\n", "\xc3", true, "sets are of bytes"},
	{"d[!x]a\n", "d/a", false, "no set matches a slash"},
	{"d/[!x]/a\n", "d/y/a", true, "a set in a path"},
	{"\\a\n", "a", true, "an escaped ordinary byte"},
	{"\\*\n", "*", true, "an escaped star"},
	{"\\*\n", "a", false, "is no star"},
	{"\\[a]\n", "[a]", true, "an escaped bracket"},
	{"a\\\\b\n", "a\\b", true, "an escaped backslash"},
	{"**/a\n", "a", true, "two stars first: at the top"},
	{"**/a\n", "d/e/a", true, "and below"},
	{"**/d/a\n", "x/y/d/a", true, "with a path behind"},
	{"**/d/a\n", "x/d/y/a", false, "which belongs together"},
	{"d/**\n", "d/a", true, "two stars last: all that is inside"},
	{"d/**\n", "d/a/b", true, "at any depth"},
	{"d/**\n", "d/", false, "but not itself"},
	{"d/**\n", "x/d/a", false, "anchored"},
	{"d/**/a\n", "d/a", true, "two stars inside: no folder"},
	{"d/**/a\n", "d/x/a", true, "one"},
	{"d/**/a\n", "d/x/y/a", true, "two"},
	{"d/**/a\n", "d/xa", false, "whole names"},
	{"d/**/a\n", "xd/a", false, "whole names"},
	{"**\n", "d/a", true, "two stars alone"},
	{"/**\n", "d/a", true, "anchored"},
	{"a**\n", "abc", true, "other two stars are one"},
	{"d/a**c\n", "d/abc", true, "also in a path"},
	{"d/a**c\n", "d/ab/c", false, "and do not cross slashes"},
	{"d/a**/c\n", "d/ab/x/c", true, "but behind plain bytes they do, as in git"},
	{"d/?**/c\n", "d/ab/x/c", false, "and only there"},
	{"**/a*/**/b?\n", "x/ab/y/z/bc", true, "everything at once"},
	{"**/a*/**/b?\n", "x/ab/y/z/b", false, "everything at once"},
	{"**/x/*/**/y\n", "x/x/a/y", true, "going back beyond the first try"},
};

static struct ignore parse(const char *text)
{
	struct err err = {0};
	struct ignore ignore = {0};

	if (ignore_parse("f", text, strlen(text), &ignore, &err) < 0)
		tap_ok(false, "\"%s\" parses: %s", text, err.message);
	return ignore;
}

static void test_rows(void)
{
	for (size_t i = 0; i < array_len(rows); i++) {
		_cleanup_(ignore_release) struct ignore ignore = parse(rows[i].rules);
		_cleanup_(str_release) struct str shown = {0};
		char path[64];
		size_t len = strlen(rows[i].path);
		bool is_dir = rows[i].path[len - 1] == '/';

		snprintf(path, sizeof(path), "%.*s", (int)(len - is_dir), rows[i].path);
		str_append_escaped(&shown, rows[i].rules, strlen(rows[i].rules));
		tap_ok(ignore_hides(&ignore, path, is_dir) == rows[i].hidden, "%s: %s, %s",
		       rows[i].why, str_text(&shown), rows[i].path);
	}
}

static void refused_bytes(const char *text, size_t len, unsigned line, const char *why)
{
	struct err err = {0};
	struct ignore ignore = {.len = 42};
	char place[16];
	int r = ignore_parse("f", text, len, &ignore, &err);

	snprintf(place, sizeof(place), "f:%u: ", line);
	tap_ok(r < 0 && err.code == ERR_CONFIG && str_starts(err.message, line ? place : "f ") &&
		       ignore.len == 42,
	       "refused: %s (%s)", why, err.message);
}

static void refused(const char *text, unsigned line, const char *why)
{
	refused_bytes(text, strlen(text), line, why);
}

static void test_refused(void)
{
	_cleanup_(freep) char *big = malloc(IGNORE_SIZE_MAX + 1);
	struct ignore ignore = {0};

	if (!big)
		abort();
	refused("a\n[b\n", 2, "an open bracket");
	refused("[]\n", 1, "an open bracket that looks closed");
	refused("[a\\\n", 1, "an open bracket, escaped to the end");
	refused("[[:a\n", 1, "an open class");
	refused("[[:nope:]]\n", 1, "an unknown class");
	refused("[c-a]\n", 1, "a range that runs backwards");
	refused("[/]\n", 1, "a set of nothing but slashes");
	refused("a\n\n# c\na\\\n", 4, "a trailing backslash");
	refused("a\\/\n", 1, "a trailing backslash before the slash");
	refused("./a\n", 1, "a leading dot");
	refused("d/../a\n", 1, "the parent folder");
	refused("d/.\n", 1, "the folder itself");
	refused("a//\n", 1, "two slashes at the end");
	refused("d//a\n", 1, "two slashes inside");
	refused("//a\n", 1, "two slashes first");
	refused("/\n", 1, "a slash alone");
	refused("!\n", 1, "a negation of nothing");
	refused("!/\n", 1, "a negation of nothing");
	refused("a\t\n", 1, "a trailing tab");
	refused("a\r\r\n", 1, "a trailing carriage return");
	refused_bytes("a\nb\0c\n", 6, 2, "a NUL byte");
	refused_bytes("# \0\n", 4, 1, "a NUL byte in a comment");
	refused_bytes("\xff\xfe"
		      "a\0\n\0",
		      6, 1, "UTF-16");
	memset(big, 'a', IGNORE_SIZE_MAX + 1);
	refused_bytes(big, IGNORE_SIZE_MAX + 1, 0, "more than 1 MiB");
	refused_bytes(big, IGNORE_LINE_MAX + 1, 1, "a line that is too long");
	tap_ok(ignore_parse("f", big, IGNORE_LINE_MAX, &ignore, NULL) == 0 && ignore.len == 1,
	       "the longest line is accepted");
	ignore_release(&ignore);
	memset(big, '#', IGNORE_SIZE_MAX);
	tap_ok(ignore_parse("f", big, IGNORE_SIZE_MAX, &ignore, NULL) == 0 && ignore.len == 0,
	       "a comment may be as long as the file");
	for (size_t i = 0; i + 1 < IGNORE_SIZE_MAX; i += 2)
		memcpy(big + i, "a\n", 2);
	refused_bytes(big, IGNORE_SIZE_MAX, IGNORE_RULES_MAX + 1, "more than 4096 rules");
	tap_ok(ignore_parse("f", big, (size_t)2 * IGNORE_RULES_MAX, &ignore, NULL) == 0 &&
		       ignore.len == IGNORE_RULES_MAX,
	       "as many rules as allowed");
	ignore_release(&ignore);
}

/* What takes a naive matcher longer than the universe lasts. */
static void test_no_explosion(void)
{
	_cleanup_(str_release) struct str rule = {0}, path = {0};
	struct ignore ignore;

	for (int i = 0; i < 500; i++)
		if (str_append(&rule, "**/a*a*/") < 0)
			abort();
	if (str_append(&rule, "b\n") < 0)
		abort();
	for (int i = 0; i < 2000; i++)
		if (str_append(&path, "aaaaaaaa/") < 0)
			abort();
	if (str_append(&path, "c") < 0)
		abort();
	ignore = parse(str_text(&rule));
	alarm(60);
	tap_ok(!ignore_hides(&ignore, str_text(&path) + 9 * 1900, false),
	       "many stars come to an end");
	alarm(0);
	ignore_release(&ignore);
}

/* The tree of the trials; folders end in a slash. */
static const char *const tree[] = {
	"a",      "b",      "c/",      "c/a",    "c/b",      "c/c",     "c/ab",     "ab",
	"abc",    "a.c",    "b.c",     "d/",     "d/a/",     "d/a/a",   "d/a/b",    "d/a/a.c",
	"d/b/",   "d/b/a/", "d/b/a/a", "d/b/c",  "d/abc",    "d/a.c",   "-",        "]",
	"[a]",    "!a",     "#a",      "a b",    "a ",       "*",       "?",        "a\\b",
	"A",      "7",      "e/",      "e/d/",   "e/d/a/",   "e/d/a/b", "e/d/a/c/", "e/d/a/c/a",
	"e/a/",   "e/a/a",  "e/c/",    "e/c/c/", "e/c/c/c",  "ca/",     "ca/a",     "ca/b/",
	"ca/b/a", ".a",     ".a.c",    "e/.a",   "\xc3\xa4", "x\xff",
};

static void make_tree(void)
{
	for (size_t i = 0; i < array_len(tree); i++) {
		_cleanup_(freep) char *path = strdup(tree[i]);
		size_t len = path ? strlen(path) : 0;

		if (!path)
			abort();
		if (path[len - 1] != '/') {
			scratch_write(path, "");
			continue;
		}
		path[len - 1] = '\0';
		if (mkdir(path, 0755) < 0)
			abort();
	}
}

static uint32_t state;

static uint32_t below(uint32_t n)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % n;
}

static const char *pick_name(void)
{
	static const char *const parts[] = {
		"a",
		"b",
		"c",
		"d",
		"e",
		"*",
		"?",
		"a*",
		"*a",
		"*.c",
		"[ab]",
		"[!a]",
		"[a-c]",
		"[^b-d]",
		"**",
		"***",
		"?*",
		"\\a",
		".*",
		"[[:alpha:]]",
		"[]a-]",
		"[\\]x]",
		"ca",
		"c*",
		"ab",
		"a**",
		"[[:digit:]7-]",
		"\\*",
		"a\\\\b",
		"[!]]",
		"a\\ ",
		"\\#a",
		"\xc3?",
		"[\x80-\xff]*",
		"[[:a]",
		"*b*",
	};

	return parts[below(array_len(parts))];
}

static void append_pattern(struct str *out)
{
	uint32_t names = 1 + below(4);
	int r = below(4) == 0 ? str_append_char(out, '!') : 0;

	if (r == 0 && below(5) == 0)
		r = str_append_char(out, '/');
	for (uint32_t i = 0; i < names && r == 0; i++) {
		if (i > 0)
			r = str_append(out, below(20) == 0 ? "\\/" : "/");
		if (r == 0)
			r = str_append(out, i + 1 < names && below(4) == 0 ? "**" : pick_name());
		if (r == 0 && below(6) == 0)
			r = str_append(out, pick_name());
	}
	if (r == 0 && below(5) == 0)
		r = str_append_char(out, '/');
	if (r == 0 && below(8) == 0)
		r = str_append(out, "  ");
	if (r < 0 || str_append_char(out, '\n') < 0)
		abort();
}

/* Patterns that git takes and never matches. */
static void append_broken(struct str *out)
{
	static const char *const broken[] = {"[a",       "a\\", "./a",     "c/./a", "d//a",
					     "[[:x:]]*", "//a", "c/../a",  "a//",   "[/]",
					     "/",        "[!",  "d/[a/]b["};

	if (str_appendf(out, "%s\n", broken[below(array_len(broken))]) < 0)
		abort();
}

static bool git(const char *const *args, const char *input, struct str *ret)
{
	char *envp[] = {(char *)"GIT_CONFIG_NOSYSTEM=1", (char *)"GIT_CONFIG_GLOBAL=/dev/null",
			(char *)"HOME=/nonexistent", (char *)"PATH=/usr/bin:/bin", NULL};
	const char *path = access("/usr/bin/git", X_OK) == 0 ? "/usr/bin/git"
							     : "/usr/local/bin/git";
	struct child child = {.path = path,
			      .argv = (char *const *)args,
			      .envp = envp,
			      .input = input,
			      .max_output = 1 << 20};

	return child_run(&child, ret, NULL) == 0 && WIFEXITED(child.status) &&
	       WEXITSTATUS(child.status) <= 1;
}

/* As git prints a name on a line of its own. */
static bool git_names(const struct str *output, const char *path)
{
	_cleanup_(str_release) struct str line = {0}, text = {0};
	bool quoted = strpbrk(path, "\\\"");
	int r = str_append(&line, quoted ? "\n\"" : "\n");

	for (; *path && r == 0; path++) {
		if (*path == '\\')
			r = str_append_char(&line, '\\');
		if (r == 0)
			r = str_append_char(&line, *path);
	}
	if (r < 0 || str_append(&line, quoted ? "\"\n" : "\n") < 0 ||
	    str_appendf(&text, "\n%s", str_text(output)) < 0)
		abort();
	return strstr(text.data, line.data);
}

static unsigned compare(const struct str *rules, const struct ignore *ignore,
			const struct str *output, unsigned *hidden)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < array_len(tree); i++) {
		char path[64];
		size_t len = strlen(tree[i]);
		bool is_dir = tree[i][len - 1] == '/', ours, gits;

		snprintf(path, sizeof(path), "%.*s", (int)(len - is_dir), tree[i]);
		ours = ignore_hides(ignore, path, is_dir);
		gits = git_names(output, path);
		*hidden += gits;
		if (ours != gits && ++wrong == 1)
			tap_note("%s: git %s hide %s", str_text(rules), gits ? "does" : "does not",
				 tree[i]);
	}
	return wrong;
}

#define ROUNDS 1000

static void test_against_git(void)
{
	const char *init[] = {"git", "init", "-q", ".", NULL};
	const char *check[] = {
		"git", "-c", "core.quotePath=false", "check-ignore", "--no-index", "--stdin", NULL};
	const char *seed = getenv("PALE_SEED");
	_cleanup_(str_release) struct str names = {0};
	unsigned wrong = 0, hidden = 0, refusals = 0;

	if (tap_on_valgrind()) {
		tap_note("valgrind cannot start git");
		return;
	}
	if (!git(init, NULL, NULL)) {
		tap_skip("no git to compare with");
		return;
	}
	state = seed ? (uint32_t)strtoul(seed, NULL, 0) : 20240229;
	make_tree();
	for (size_t i = 0; i < array_len(tree); i++) {
		size_t len = strlen(tree[i]) - str_ends(tree[i], "/");

		if (str_appendf(&names, "%.*s\n", (int)len, tree[i]) < 0)
			abort();
	}
	for (unsigned round = 0; round < ROUNDS; round++) {
		_cleanup_(str_release) struct str rules = {0}, output = {0};
		_cleanup_(ignore_release) struct ignore ignore = {0};
		unsigned n = round % 2 ? 1 : 1 + below(6);

		if (round % 16 == 15)
			append_broken(&rules);
		else
			for (unsigned i = 0; i < n; i++)
				append_pattern(&rules);
		scratch_write(".gitignore", str_text(&rules));
		if (!git(check, str_text(&names), &output)) {
			tap_ok(false, "git checks %s", str_text(&rules));
			continue;
		}
		if (ignore_parse("f", rules.data, rules.len, &ignore, NULL) < 0)
			refusals++; /* what is refused would have matched nothing */
		if (ignore.len || round % 16 == 15)
			wrong += compare(&rules, &ignore, &output, &hidden);
	}
	tap_eq_int(wrong, 0, "git agrees on %u sets of patterns (seed %s)", ROUNDS,
		   seed ? seed : "fixed");
	tap_ok(hidden > ROUNDS && refusals >= ROUNDS / 16 && refusals < ROUNDS / 5,
	       "%u paths were hidden, %u sets refused", hidden, refusals);
}

/* As git reads a .gitignore: what is no pattern matches nothing, and the others hold. */
static void test_loosely(void)
{
	static const char text[] = "*.o\n[oops\na\\\n!keep.o\n./x\nd/\nnul\0here\nend";
	struct ignore ignore = {0};

	tap_ok(ignore_parse("f", text, sizeof(text) - 1, &ignore, NULL) < 0, "strictly: refused");
	tap_eq_int(ignore_parse_loosely(text, sizeof(text) - 1, &ignore), 0, "loosely: taken");
	tap_eq_int((long long)ignore.len, 4, "four of its lines are rules");
	tap_eq_int(ignore_judge_entry(&ignore, "s/a.o", "a.o", false), 1, "hidden");
	tap_eq_int(ignore_judge_entry(&ignore, "keep.o", "keep.o", false), -1, "an exception");
	tap_eq_int(ignore_judge_entry(&ignore, "a.c", "a.c", false), 0, "nothing is said");
	tap_eq_int(ignore_judge_entry(&ignore, "d", "d", false), 0, "for folders only");
	tap_eq_int(ignore_judge_entry(&ignore, "d", "d", true), 1, "a folder");
	ignore_release(&ignore);
}

int main(void)
{
	test_loosely();
	scratch_enter();
	test_rows();
	test_refused();
	test_no_explosion();
	test_against_git();
	scratch_leave();
	return tap_done();
}
