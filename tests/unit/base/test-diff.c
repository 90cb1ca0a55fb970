/* SPDX-License-Identifier: MIT */
#include "base/diff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "tap.h"

/* Edits as "1,2>1,0 …": line and count of old, of new. */
static const char *edits_text(const struct diff *d, struct str *out)
{
	str_truncate(out, 0);
	for (size_t i = 0; i < d->len; i++)
		str_appendf(out, "%s%zu,%zu>%zu,%zu", i ? " " : "", d->edits[i].old_line,
			    d->edits[i].old_count, d->edits[i].new_line, d->edits[i].new_count);
	return str_text(out);
}

static const char *hunks_text(const struct diff_hunk *hunks, size_t n, struct str *out)
{
	str_truncate(out, 0);
	for (size_t i = 0; i < n; i++)
		str_appendf(out, "%s%zu,%zu>%zu,%zu:%zu+%zu", i ? " " : "", hunks[i].old_start,
			    hunks[i].old_count, hunks[i].new_start, hunks[i].new_count,
			    hunks[i].first_edit, hunks[i].edits);
	return str_text(out);
}

static const struct {
	const char *name, *old, *new, *edits;
} table[] = {
	{"nothing and nothing", "", "", ""},
	{"equal texts", "a\nb\n", "a\nb\n", ""},
	{"equal texts without a newline", "a\nb", "a\nb", ""},
	{"from nothing", "", "a\nb\n", "0,0>0,2"},
	{"to nothing", "a\nb\n", "", "0,2>0,0"},
	{"only newlines", "\n\n\n", "\n", "1,2>1,0"},
	{"one line changed", "a\nb\nc\n", "a\nx\nc\n", "1,1>1,1"},
	{"first and last", "a\nb\nc\n", "x\nb\ny\n", "0,1>0,1 2,1>2,1"},
	{"the last newline goes", "a\nb\n", "a\nb", "1,1>1,1"},
	{"the last newline comes", "a\nb", "a\nb\n", "1,1>1,1"},
	{"a line behind one without newline", "a", "a\nb", "0,1>0,2"},
	{"nothing in common", "a\nb\n", "x\ny\nz\n", "0,2>0,3"},
	{"a carriage return is a byte like others", "a\r\nb\n", "a\nb\n", "0,1>0,1"},
	{"moved lines", "a\nb\nc\nd\n", "c\nd\na\nb\n", "0,2>0,0 4,0>2,2"},
	{"a doubled line is the second one", "a\na\nb\n", "a\na\na\nb\n", "2,0>2,1"},
	{"the functions stay whole", "int a\n{\n}\n\nint c\n{\n}\n",
	 "int a\n{\n}\n\nint b\n{\n}\n\nint c\n{\n}\n", "4,0>4,4"},
	{"what is added at the end stays whole", "int a\n{\n\tx;\n}\n",
	 "int a\n{\n\tx;\n}\n\nint b\n{\n\ty;\n}\n", "4,0>4,5"},
	{"indentation tells where a block begins", "for\n  if a\n    x\n  end\n",
	 "for\n  if b\n    y\n  end\n  if a\n    x\n  end\n", "1,0>1,3"},
	{"two edits that can meet do", "a\nx\nb\n", "a\nb\nb\n", "1,1>1,1"},
};

static void test_table(void)
{
	_cleanup_(str_release) struct str got = {0};

	for (size_t i = 0; i < array_len(table); i++) {
		_cleanup_(diff_release) struct diff d = {0};
		int r = diff_compute(table[i].old, strlen(table[i].old), table[i].new,
				     strlen(table[i].new), DIFF_NATURAL, &d);

		tap_eq_int(r, 0, "%s: computed", table[i].name);
		tap_eq_str(edits_text(&d, &got), table[i].edits, "%s", table[i].name);
	}
}

static void test_lines(void)
{
	_cleanup_(diff_lines_release) struct diff_lines lines = {0};
	size_t removed, added;
	struct diff d;

	tap_eq_int(diff_lines_split(NULL, 0, &lines), 0, "no bytes at all");
	tap_eq_int((long long)lines.count, 0, "are no lines");
	diff_lines_release(&lines);
	tap_eq_int(diff_lines_split("a\n\nbc", 5, &lines), 0, "lines of all kinds");
	tap_eq_int((long long)lines.count, 3, "three");
	tap_ok(diff_span(&lines, 0, 1) == 2 && diff_span(&lines, 1, 1) == 1 &&
		       diff_span(&lines, 2, 1) == 2 && diff_span(&lines, 0, 3) == 5,
	       "each with its newline, if it has one");
	tap_ok(memcmp(diff_line(&lines, 2), "bc", 2) == 0, "and where it is");
	tap_eq_int(diff_compute(NULL, 0, "a\nb", 3, DIFF_PLAIN, &d), 0, "from no bytes at all");
	diff_count(&d, &removed, &added);
	tap_ok(removed == 0 && added == 2, "two lines are added");
	diff_release(&d);
}

static void test_styles(void)
{
	static const char old[] = "int a\n{\n}\n\nint c\n{\n}\n";
	static const char new[] = "int a\n{\n}\n\nint b\n{\n}\n\nint c\n{\n}\n";
	_cleanup_(diff_release) struct diff d = {0};
	_cleanup_(str_release) struct str got = {0};

	diff_compute(new, strlen(new), old, strlen(old), DIFF_PLAIN, &d);
	tap_eq_str(edits_text(&d, &got), "4,4>4,0", "deletions too, whole");
	diff_release(&d);
	diff_compute("x\n{\n}\n", 6, "x\n{\n}\n{\n}\n", 10, DIFF_PLAIN, &d);
	tap_eq_str(edits_text(&d, &got), "3,0>3,2", "plain: as far down as it goes");
}

static void test_hunks(void)
{
	/* Lines 0..29, of which 5, 9 and 20 change. */
	_cleanup_(str_release) struct str old = {0}, new = {0}, got = {0};
	_cleanup_(diff_release) struct diff d = {0};
	static const struct {
		size_t context;
		const char *hunks;
	} cases[] = {
		{0, "5,1>5,1:0+1 9,1>9,1:1+1 20,1>20,1:2+1"},
		{1, "4,3>4,3:0+1 8,3>8,3:1+1 19,3>19,3:2+1"},
		{2, "3,9>3,9:0+2 18,5>18,5:2+1"},
		{3, "2,11>2,11:0+2 17,7>17,7:2+1"},
		{5, "0,26>0,26:0+3"},
		{100, "0,30>0,30:0+3"},
		{SIZE_MAX, "0,30>0,30:0+3"},
	};

	for (int i = 0; i < 30; i++) {
		str_appendf(&old, "%d\n", i);
		str_appendf(&new, i == 5 || i == 9 || i == 20 ? "x%d\n" : "%d\n", i);
	}
	tap_eq_int(diff_compute(old.data, old.len, new.data, new.len, DIFF_NATURAL, &d), 0,
		   "three edits");
	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(freep) struct diff_hunk *hunks = NULL;
		size_t n = 0;

		tap_eq_int(diff_hunks(&d, cases[i].context, &hunks, &n), 0, "hunks");
		tap_eq_str(hunks_text(hunks, n, &got), cases[i].hunks, "context %zu",
			   cases[i].context);
	}
}

static void test_split(void)
{
	static const char old[] = "a\nb\nc\nd\ne\n", new[] = "A\nb\nc\nd\nE\nf\n";
	_cleanup_(diff_release) struct diff d = {0};
	_cleanup_(freep) struct diff_hunk *hunks = NULL, *parts = NULL;
	_cleanup_(str_release) struct str got = {0};
	size_t n = 0, n_parts = 0;

	diff_compute(old, strlen(old), new, strlen(new), DIFF_NATURAL, &d);
	diff_hunks(&d, 3, &hunks, &n);
	tap_eq_str(hunks_text(hunks, n, &got), "0,5>0,6:0+2", "one hunk of two edits");
	tap_eq_int(diff_hunk_split(&d, &hunks[0], 3, &parts, &n_parts), 0, "is split");
	tap_eq_str(hunks_text(parts, n_parts, &got), "0,4>0,4:0+1 1,4>1,5:1+1",
		   "into two that share the lines between");
	free(take_ptr(hunks));
	diff_release(&d);
	diff_compute(old, strlen(old), old, strlen(old), DIFF_NATURAL, &d);
	hunks = (struct diff_hunk *)1;
	tap_eq_int(diff_hunks(&d, 3, &hunks, &n), 0, "no edits");
	tap_ok(!hunks && n == 0, "no hunks");
}

static void test_binary(void)
{
	char *big = calloc(1, 9000);

	if (!big)
		return;
	memset(big, 'a', 9000);
	tap_ok(!diff_is_binary(NULL, 0), "nothing is text");
	tap_ok(!diff_is_binary("a\xff\x01", 3), "strange bytes are text");
	tap_ok(diff_is_binary("a\0b", 3), "a NUL is not");
	big[8000] = '\0';
	tap_ok(!diff_is_binary(big, 9000), "a late NUL is not looked at");
	big[7999] = '\0';
	tap_ok(diff_is_binary(big, 9000), "the last one that is");
	free(big);
}

/* The same, whatever the key of the hash table. */
static void test_stable(void)
{
	_cleanup_(str_release) struct str old = {0}, new = {0}, first = {0}, again = {0};
	uint32_t state = 1;
	bool same = true;

	for (int i = 0; i < 400; i++) {
		state = state * 1103515245 + 12345;
		str_appendf(&old, "%u\n", state >> 16 & 7);
		str_appendf(&new, "%u\n", state >> 20 & 7);
	}
	for (int i = 0; i < 5; i++) {
		_cleanup_(diff_release) struct diff d = {0};

		diff_compute(old.data, old.len, new.data, new.len, DIFF_NATURAL, &d);
		edits_text(&d, i == 0 ? &first : &again);
		same = same && (i == 0 || strcmp(first.data, again.data) == 0);
	}
	tap_ok(same && first.len > 100, "the same texts give the same edits");
}

int main(void)
{
	test_table();
	test_lines();
	test_styles();
	test_hunks();
	test_split();
	test_binary();
	test_stable();
	return tap_done();
}
