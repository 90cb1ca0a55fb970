/* SPDX-License-Identifier: MIT */
#include "stage/patch.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/diff.h"
#include "base/str.h"
#include "stage/patch-zlib.h"
#include "tap.h"

#define EMPTY_ID "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
#define ZERO_ID  "0000000000000000000000000000000000000000"
#define A_ID     "78981922613b2afb6025042ff6bd878ac1994e85" /* "a\n" */
#define B_ID     "61780798228d17af2d34fce4cfbdf35556832472" /* "b\n" */
#define LINK_ID  "1de565933b05f74c75ff9a6520af5f9f8a5a2f1d" /* "target" */

/* A side: path, mode, text. */
#define NONE                                                                                       \
	{                                                                                          \
		NULL, 0, NULL                                                                      \
	}
#define FILE_OF(p, text)                                                                           \
	{                                                                                          \
		p, PATCH_MODE_FILE, text                                                           \
	}
#define PROGRAM(p, text)                                                                           \
	{                                                                                          \
		p, PATCH_MODE_PROGRAM, text                                                        \
	}
#define LINK_TO(p, where)                                                                          \
	{                                                                                          \
		p, PATCH_MODE_LINK, where                                                          \
	}

struct side {
	const char *path;
	mode_t mode;
	const char *text;
};

static const struct {
	const char *name;
	struct side old, new;
	const char *patch;
} table[] = {
	{"nothing changed", FILE_OF("f", "a\n"), FILE_OF("f", "a\n"), ""},
	{"changed", FILE_OF("f", "a\n"), FILE_OF("f", "b\n"),
	 "diff --git a/f b/f\nindex " A_ID ".." B_ID " 100644\n--- a/f\n+++ b/f\n"
	 "@@ -1 +1 @@\n-a\n+b\n"},
	{"created", NONE, FILE_OF("d/f", "a\n"),
	 "diff --git a/d/f b/d/f\nnew file mode 100644\nindex " ZERO_ID ".." A_ID
	 "\n--- /dev/null\n+++ b/d/f\n@@ -0,0 +1 @@\n+a\n"},
	{"deleted", PROGRAM("f", "a\n"), NONE,
	 "diff --git a/f b/f\ndeleted file mode 100755\nindex " A_ID ".." ZERO_ID
	 "\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"},
	{"an empty file created", NONE, FILE_OF("f", ""),
	 "diff --git a/f b/f\nnew file mode 100644\nindex " ZERO_ID ".." EMPTY_ID "\n"},
	{"an empty file deleted", FILE_OF("f", ""), NONE,
	 "diff --git a/f b/f\ndeleted file mode 100644\nindex " EMPTY_ID ".." ZERO_ID "\n"},
	{"emptied", FILE_OF("f", "a\n"), FILE_OF("f", ""),
	 "diff --git a/f b/f\nindex " A_ID ".." EMPTY_ID
	 " 100644\n--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-a\n"},
	{"only the mode", FILE_OF("f", "a\n"), PROGRAM("f", "a\n"),
	 "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"},
	{"mode and content", FILE_OF("f", "a\n"), PROGRAM("f", "b\n"),
	 "diff --git a/f b/f\nold mode 100644\nnew mode 100755\nindex " A_ID ".." B_ID
	 "\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"},
	{"renamed", FILE_OF("f", "a\n"), FILE_OF("g", "a\n"),
	 "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n"},
	{"renamed, with another mode", FILE_OF("f", "a\n"), PROGRAM("g", "a\n"),
	 "diff --git a/f b/g\nold mode 100644\nnew mode 100755\nsimilarity index 100%\n"
	 "rename from f\nrename to g\n"},
	{"renamed and changed", FILE_OF("f", "a\n"), FILE_OF("g", "b\n"),
	 "diff --git a/f b/g\nsimilarity index 0%\nrename from f\nrename to g\nindex " A_ID
	 ".." B_ID " 100644\n--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n"},
	{"a link appears", NONE, LINK_TO("l", "target"),
	 "diff --git a/l b/l\nnew file mode 120000\nindex " ZERO_ID ".." LINK_ID
	 "\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+target\n\\ No newline at end of file\n"},
	{"a file becomes a link", FILE_OF("l", "a\n"), LINK_TO("l", "target"),
	 "diff --git a/l b/l\ndeleted file mode 100644\nindex " A_ID ".." ZERO_ID
	 "\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
	 "diff --git a/l b/l\nnew file mode 120000\nindex " ZERO_ID ".." LINK_ID
	 "\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+target\n\\ No newline at end of file\n"},
	{"a space in the name", FILE_OF("a b", "a\n"), FILE_OF("a b", "b\n"),
	 "diff --git a/a b b/a b\nindex " A_ID ".." B_ID
	 " 100644\n--- a/a b\t\n+++ b/a b\t\n@@ -1 +1 @@\n-a\n+b\n"},
	{"a strange name", NONE, FILE_OF("\"\n\303\274", "a\n"),
	 "diff --git \"a/\\\"\\n\\303\\274\" \"b/\\\"\\n\\303\\274\"\nnew file mode 100644\nindex " ZERO_ID
	 ".." A_ID "\n--- /dev/null\n+++ \"b/\\\"\\n\\303\\274\"\n@@ -0,0 +1 @@\n+a\n"},
};

static struct patch_side side_of(const struct side *s)
{
	return (struct patch_side){
		.path = s->path,
		.mode = s->mode,
		.data = s->text,
		.len = s->text ? strlen(s->text) : 0,
	};
}

static void test_table(void)
{
	static const struct patch_options options = {.context = DIFF_CONTEXT};

	for (size_t i = 0; i < array_len(table); i++) {
		struct patch_side old = side_of(&table[i].old), new = side_of(&table[i].new);
		_cleanup_(str_release) struct str out = {0};

		tap_eq_int(patch_write(&out, &old, &new, &options), 0, "%s: written",
			   table[i].name);
		tap_eq_str(str_text(&out), table[i].patch, "%s", table[i].name);
	}
}

static void test_nothing(void)
{
	static const struct patch_options options = {.context = DIFF_CONTEXT};
	static const struct patch_side none = {0};
	_cleanup_(str_release) struct str out = {0};

	str_append(&out, "before");
	tap_eq_int(patch_write(&out, &none, &none, &options), -EINVAL, "no side at all");
	tap_eq_str(str_text(&out), "before", "what was there is left alone");
	tap_ok(patch_mode(S_IFREG | 0600) == PATCH_MODE_FILE &&
		       patch_mode(S_IFREG | 04744) == PATCH_MODE_PROGRAM &&
		       patch_mode(S_IFREG | 0011) == PATCH_MODE_FILE &&
		       patch_mode(S_IFLNK | 0777) == PATCH_MODE_LINK,
	       "modes as git has them");
}

static void test_binary(void)
{
	struct patch_options options = {.context = DIFF_CONTEXT};
	static const struct patch_side none = {0};
	struct patch_side new = {"f", PATCH_MODE_FILE, "\0", 1};
	_cleanup_(str_release) struct str out = {0};

	patch_write(&out, &none, &new, &options);
	tap_ok(strstr(str_text(&out), "\nBinary files /dev/null and b/f differ\n") != NULL,
	       "without zlib it is only named");
	str_truncate(&out, 0);
	options.deflate = patch_deflate_zlib;
	tap_eq_int(patch_write(&out, &none, &new, &options), 0, "with zlib");
	/* How streams begin depends on the level; how long they are does not. */
	tap_ok(strstr(str_text(&out), "\nGIT binary patch\nliteral 1\nI") != NULL,
	       "the new bytes, nine of them packed");
	tap_ok(strstr(str_text(&out), "\n\nliteral 0\nH") != NULL && str_ends(out.data, "\n\n"),
	       "the old ones, eight");
}

struct counts {
	size_t lines[PATCH_REMOVED + 1];
	size_t stop; /* fail at this line */
};

static int count_line(void *data, enum patch_line kind, const char *text, size_t len)
{
	struct counts *counts = data;

	if (len == 0 || text[len - 1] != '\n' || memchr(text, '\n', len - 1))
		return -EBADMSG;
	counts->lines[kind]++;
	return counts->stop > 0 && --counts->stop == 0 ? -EPIPE : 0;
}

static void test_walk(void)
{
	static const struct patch_options options = {.context = 1};
	static const struct patch_side old = {"f", PATCH_MODE_FILE, "a\nb\nc\nd\ne\nf", 11};
	static const struct patch_side new = {"f", PATCH_MODE_FILE, "A\nb\nc\nd\nE\nE\nf", 13};
	struct counts counts = {0};

	tap_eq_int(patch_walk(&old, &new, &options, count_line, &counts), 0, "line by line");
	tap_ok(counts.lines[PATCH_HEADER] == 4 && counts.lines[PATCH_HUNK] == 2 &&
		       counts.lines[PATCH_CONTEXT] == 4 && counts.lines[PATCH_ADDED] == 3 &&
		       counts.lines[PATCH_REMOVED] == 2,
	       "each of its kind");
	for (size_t stop = 1; stop <= 15; stop++) {
		counts = (struct counts){.stop = stop};
		if (patch_walk(&old, &new, &options, count_line, &counts) != -EPIPE)
			tap_ok(false, "a refusal at line %zu is passed on", stop);
	}
	tap_ok(true, "refusals are passed on");
}

/* "\033[m" and the like are ours; those of the file must not get through. */
static void test_shown(void)
{
	static const struct patch_options options = {.context = DIFF_CONTEXT};
	static const char text[] = "\tx\033[2J\xff\xe2\x80\xae\r\n";
	static const struct patch_side none = {0};
	const struct patch_side new = {"\xe2\x80\xaexe\xc3\xbc", PATCH_MODE_FILE, text,
				       sizeof(text) - 1};
	_cleanup_(str_release) struct str out = {0};

	tap_eq_int(patch_write_shown(&out, &none, &new, &options, false), 0, "shown");
	tap_ok(strstr(out.data, "\n+\tx\\x1b[2J\\xff\\u{202e}\\x0d\n") != NULL,
	       "what could deceive is escaped, tabs are not");
	tap_ok(strstr(out.data, "+++ b/\\u{202e}xe\xc3\xbc\n") != NULL,
	       "in names too; letters stay letters");
	tap_ok(!strchr(out.data, '\033'), "no colours");
	str_truncate(&out, 0);
	patch_write_shown(&out, &none, &new, &options, true);
	tap_ok(strstr(out.data, "\n\033[32m+\tx\\x1b[2J\\xff\\u{202e}\\x0d\033[m\n") != NULL,
	       "with colours");
}

static void test_heading(void)
{
	static const char old[] = "int f(void) \r\n{\n1\n2\n3\n4\n5\n}\n";
	static const char new[] = "int f(void) \r\n{\n1\n2\n3\n4\nx\n}\n";
	static const struct patch_options options = {.context = 1};
	const struct patch_side a = {"f", PATCH_MODE_FILE, old, sizeof(old) - 1};
	const struct patch_side b = {"f", PATCH_MODE_FILE, new, sizeof(new) - 1};
	_cleanup_(str_release) struct str out = {0};

	patch_write(&out, &a, &b, &options);
	tap_ok(strstr(str_text(&out), "\n@@ -6,3 +6,3 @@ int f(void)\n 4\n-5\n+x\n }\n") != NULL,
	       "the function that a hunk is in");
}

static void test_choice(void)
{
	static const char old[] = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl";
	static const char new[] = "A\nb\nC\nd\ne\nf\ng\nh\ni\nj\nk\nl\n";
	static const char *const results[] = {
		"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl",
		"A\nb\nC\nd\ne\nf\ng\nh\ni\nj\nk\nl",
		"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n",
		"A\nb\nC\nd\ne\nf\ng\nh\ni\nj\nk\nl\n",
	};
	_cleanup_(diff_release) struct diff d = {0};
	_cleanup_(freep) struct diff_hunk *hunks = NULL, *parts = NULL;
	_cleanup_(str_release) struct str out = {0};
	size_t n = 0, n_parts = 0;

	diff_compute(old, strlen(old), new, strlen(new), DIFF_NATURAL, &d);
	diff_hunks(&d, DIFF_CONTEXT, &hunks, &n);
	tap_eq_int((long long)n, 2, "two hunks");
	for (unsigned i = 0; i < array_len(results) && n == 2; i++) {
		const bool chosen[] = {i & 1, i & 2};

		str_truncate(&out, 0);
		tap_eq_int(patch_apply_hunks(&d, hunks, n, chosen, &out), 0, "chosen");
		tap_eq_str(str_text(&out), results[i], "choice %u", i);
	}
	diff_hunk_split(&d, &hunks[0], DIFF_CONTEXT, &parts, &n_parts);
	tap_eq_int((long long)n_parts, 2, "the first is split");
	str_truncate(&out, 0);
	patch_apply_hunks(&d, parts, n_parts, (const bool[]){false, true}, &out);
	tap_eq_str(str_text(&out), "a\nb\nC\nd\ne\nf\ng\nh\ni\nj\nk\nl", "half of it");
	str_truncate(&out, 0);
	patch_walk_hunk(&d, &parts[1], patch_show_line, &(struct patch_shown){&out, false});
	tap_eq_str(str_text(&out), "@@ -2,5 +2,5 @@ a\n b\n-c\n+C\n d\n e\n f\n",
		   "and shown with what is around");
}

static void test_quote(void)
{
	static const struct {
		const char *path, *quoted, *utf8;
	} cases[] = {
		{"plain", "a/plain", "a/plain"},
		{"with space", "a/with space", "a/with space"},
		{"\a\b\t\n\v\f\r", "\"a/\\a\\b\\t\\n\\v\\f\\r\"", "\"a/\\a\\b\\t\\n\\v\\f\\r\""},
		{"q\"b\\", "\"a/q\\\"b\\\\\"", "\"a/q\\\"b\\\\\""},
		{"\x01\x7f", "\"a/\\001\\177\"", "\"a/\\001\\177\""},
		{"\303\274", "\"a/\\303\\274\"", "a/\303\274"},
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(str_release) struct str out = {0}, utf8 = {0};

		patch_quote(&out, "a/", cases[i].path, false);
		patch_quote(&utf8, "a/", cases[i].path, true);
		tap_eq_str(str_text(&out), cases[i].quoted, "name %zu as git quotes it", i);
		tap_eq_str(str_text(&utf8), cases[i].utf8, "name %zu to be read", i);
	}
}

int main(void)
{
	test_table();
	test_nothing();
	test_binary();
	test_walk();
	test_shown();
	test_heading();
	test_choice();
	test_quote();
	return tap_done();
}
