/* SPDX-License-Identifier: MIT */
#include "stage/similar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "tap.h"

static int percent(const char *a, const char *b)
{
	return similar_percent(a, strlen(a), b, strlen(b));
}

static void test_percent(void)
{
	_cleanup_(str_release) struct str a = {0}, b = {0};

	tap_eq_int(percent("", ""), 100, "two empty files are equal");
	tap_eq_int(percent("", "a\n"), 0, "an empty file is like no other");
	tap_eq_int(percent("a\nb\n", "a\nb\n"), 100, "equal files");
	tap_eq_int(percent("a\nb\n", "b\na\n"), 99, "100 is for equal ones only");
	tap_eq_int(percent("a\nb\n", "a\nc\n"), 50, "half of it");
	tap_eq_int(percent("a\nb\nc\nd\n", "a\n"), 25, "the larger one is the measure");
	tap_eq_int(percent("a\na\na\na\n", "a\na\nx\ny\n"), 50, "repetitions count");
	tap_eq_int(percent("abc\n", "xyz\n"), 0, "nothing in common");
	for (int i = 0; i < 1000; i++) {
		str_appendf(&a, "line %d of a file\n", i);
		str_appendf(&b, "%s %d of a file\n", i % 10 ? "line" : "other", i);
	}
	tap_ok(abs(percent(a.data, b.data) - 89) <= 1, "a tenth of the lines differs: %d",
	       percent(a.data, b.data));
	tap_ok(abs(similar_percent(a.data, 640, a.data, 1280) - 50) <= 1, "cut in half");
}

static struct similar_file file(const char *path, const char *text)
{
	return (struct similar_file){path, S_IFREG | 0644, text, strlen(text)};
}

/* "gone>made percent …" */
static const char *pairs_text(const struct similar_file *gone, size_t n_gone,
			      const struct similar_file *made, size_t n_made, size_t limit,
			      struct str *out)
{
	_cleanup_(freep) struct similar_pair *pairs = NULL;
	size_t n = 0;

	str_truncate(out, 0);
	if (similar_pairs(gone, n_gone, made, n_made, SIMILAR_ENOUGH, limit, &pairs, &n) < 0)
		return "failed";
	for (size_t i = 0; i < n; i++)
		str_appendf(out, "%s%s>%s %u", i ? ", " : "", gone[pairs[i].gone].path,
			    made[pairs[i].made].path, pairs[i].percent);
	return str_text(out);
}

static void test_pairs(void)
{
	_cleanup_(str_release) struct str got = {0};
	struct similar_file gone[] = {
		file("a/x", "1\n2\n3\n4\n"), file("a/y", "1\n2\n3\n4\n"),
		file("a/z", "5\n6\n7\n8\n"), file("a/e", ""),
		file("a/l", "target"),
	};
	struct similar_file made[] = {
		file("b/z", "5\n6\n7\n9\n"), file("b/y", "1\n2\n3\n4\n"), file("b/e", ""),
		file("b/w", "1\n2\n3\n4\n"), file("b/l", "target"),
	};

	gone[4].mode = S_IFLNK | 0777;
	tap_eq_str(pairs_text(gone, 5, made, 5, SIMILAR_LIMIT, &got),
		   "a/z>b/z 75, a/y>b/y 100, a/x>b/w 100",
		   "equal ones, those of the same name first; alike ones; no empty ones, and no "
		   "link with a file");
	made[4].mode = S_IFLNK | 0777;
	tap_eq_str(pairs_text(gone + 4, 1, made + 4, 1, SIMILAR_LIMIT, &got), "a/l>b/l 100",
		   "a link with a link");
	tap_eq_str(pairs_text(gone, 5, made, 5, 0, &got), "a/y>b/y 100, a/x>b/w 100, a/l>b/l 100",
		   "past the limit equal ones only");
	tap_eq_str(pairs_text(gone, 0, made, 5, SIMILAR_LIMIT, &got), "", "nothing gone");
	tap_eq_str(pairs_text(gone, 5, made, 0, SIMILAR_LIMIT, &got), "", "nothing made");
}

static void test_choice(void)
{
	_cleanup_(str_release) struct str got = {0};
	const struct similar_file gone[] = {
		file("one", "1\n2\n3\n4\n5\n6\n7\n8\n"),
		file("two", "1\n2\n3\n4\n5\n6\n7\nx\n"),
	};
	const struct similar_file made[] = {
		file("p", "1\n2\n3\n4\n5\n6\n7\ny\n"),
		file("q", "1\n2\n3\n4\n5\n6\nx\nz\n"),
		file("two", "1\n2\n3\n4\n5\n6\n7\nw\n"),
	};

	tap_eq_str(pairs_text(gone, 2, made, 3, SIMILAR_LIMIT, &got), "one>p 87, two>two 87",
		   "of those that are alike the same name; nobody twice");
	tap_eq_str(pairs_text(gone, 2, made, 2, SIMILAR_LIMIT, &got), "one>p 87, two>q 87",
		   "the second best when the best is taken");
}

static void test_many(void)
{
	enum { N = 3000 };
	struct similar_file *files = calloc(N, sizeof(*files));
	_cleanup_(freep) struct similar_pair *pairs = NULL;
	size_t n = 0;

	if (!files)
		return;
	for (int i = 0; i < N; i++)
		files[i] = file("same", "the same text\n");
	tap_ok(similar_pairs(files, N, files, N, SIMILAR_ENOUGH, SIMILAR_LIMIT, &pairs, &n) == 0 &&
		       n == N,
	       "%d equal files on both sides", N);
	free(files);
}

int main(void)
{
	test_percent();
	test_pairs();
	test_choice();
	test_many();
	return tap_done();
}
