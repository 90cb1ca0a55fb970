/* SPDX-License-Identifier: MIT */
#include "stage/merge.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "tap.h"

static struct merge_text text(const char *s)
{
	return (struct merge_text){s, strlen(s)};
}

/* MERGED NULL: a conflict. */
static const struct {
	const char *name, *base, *ours, *theirs, *merged;
} table[] = {
	{"nobody changed anything", "a\n", "a\n", "a\n", "a\n"},
	{"all empty", "", "", "", ""},
	{"only we", "a\nb\n", "a\nx\n", "a\nb\n", "a\nx\n"},
	{"only they", "a\nb\n", "a\nb\n", "y\nb\n", "y\nb\n"},
	{"both, apart", "a\nb\nc\n", "x\nb\nc\n", "a\nb\ny\n", "x\nb\ny\n"},
	{"both, alike", "a\nb\nc\n", "a\nx\nc\n", "a\nx\nc\n", "a\nx\nc\n"},
	{"both alike, and each something", "a\nb\nc\nd\ne\n", "1\nb\nx\nd\ne\n", "a\nb\nx\nd\n2\n",
	 "1\nb\nx\nd\n2\n"},
	{"both, differently", "a\nb\nc\n", "a\nx\nc\n", "a\ny\nc\n", NULL},
	{"neighbours", "a\nb\nc\nd\n", "a\nx\nc\nd\n", "a\nb\ny\nd\n", NULL},
	{"an insertion beside a change", "a\nb\nc\n", "a\nx\nc\n", "a\nb\nnew\nc\n", NULL},
	{"one line between", "a\nb\nc\nd\n", "x\nb\nc\nd\n", "a\nb\ny\nd\n", "x\nb\ny\nd\n"},
	{"two insertions at one place", "a\nb\n", "a\nx\nb\n", "a\ny\nb\n", NULL},
	{"the same insertion", "a\nb\n", "a\nx\nb\n", "a\nx\nb\n", "a\nx\nb\n"},
	{"deleted here, changed there", "a\nb\nc\n", "a\nc\n", "a\ny\nc\n", NULL},
	{"deleted by both", "a\nb\nc\n", "a\nc\n", "a\nc\n", "a\nc\n"},
	{"everything deleted, nothing changed", "a\nb\n", "", "a\nb\n", ""},
	{"both wrote into an empty file", "", "x\n", "y\n", NULL},
	{"a newline at the end, and a line far away", "a\nb\nc", "a\nb\nc\n", "x\nb\nc",
	 "x\nb\nc\n"},
	{"a newline at the end, and a line behind", "a\nb", "a\nb\n", "a\nb\nc", NULL},
	{"CRLF", "a\r\nb\r\nc\r\n", "x\r\nb\r\nc\r\n", "a\r\nb\r\ny\r\n", "x\r\nb\r\ny\r\n"},
};

static void test_table(void)
{
	static const struct merge_names names = {"o", "b", "t"};

	for (size_t i = 0; i < array_len(table); i++) {
		_cleanup_(merge_release) struct merge m = {0};
		_cleanup_(str_release) struct str out = {0};
		int r = merge_compute(text(table[i].base), text(table[i].ours),
				      text(table[i].theirs), &m);

		tap_eq_int(r, 0, "%s: computed", table[i].name);
		r = merge_write(&m, NULL, &out);
		if (table[i].merged) {
			tap_eq_int((long long)m.conflicts, 0, "%s: clean", table[i].name);
			tap_eq_str(str_text(&out), table[i].merged, "%s", table[i].name);
		} else {
			tap_ok(r == -EBUSY && out.len == 0, "%s: nothing is written",
			       table[i].name);
			tap_eq_int((long long)m.conflicts, 1, "%s: a conflict", table[i].name);
			tap_ok(merge_write(&m, &names, &out) == 0 && strstr(out.data, "<<<<<<< o"),
			       "%s: with markers it is written", table[i].name);
		}
	}
}

static void test_regions(void)
{
	_cleanup_(merge_release) struct merge m = {0};
	static const enum merge_kind kinds[] = {MERGE_OURS, MERGE_CONFLICT, MERGE_SAME,
						MERGE_THEIRS};

	merge_compute(text("a\nb\nc\nd\ne\nf\ng\n"), text("A\nA\nb\nX\nd\nS\nf\ng\n"),
		      text("a\nb\nY\nZ\nd\nS\nf\nT\n"), &m);
	tap_eq_int((long long)m.len, array_len(kinds), "four regions");
	for (size_t i = 0; i < m.len && i < array_len(kinds); i++)
		tap_eq_int(m.regions[i].kind, kinds[i], "the kind of region %zu", i);
	if (m.len > 1) {
		const struct merge_region *c = &m.regions[1];

		tap_ok(c->base_line == 2 && c->base_count == 1 && c->ours_line == 3 &&
			       c->ours_count == 1 && c->theirs_line == 2 && c->theirs_count == 2,
		       "where the conflict is in each of the texts");
	}
}

static void test_markers(void)
{
	static const struct merge_names named = {"here", "before", "there"}, bare = {0};
	_cleanup_(merge_release) struct merge m = {0};
	_cleanup_(str_release) struct str out = {0};

	merge_compute(text("a\nb\nc\n"), text("a\nx\nc\n"), text("a\nc\n"), &m);
	merge_write(&m, &named, &out);
	tap_eq_str(str_text(&out),
		   "a\n<<<<<<< here\nx\n||||||| before\nb\n=======\n>>>>>>> there\nc\n",
		   "the three versions, named");
	merge_release(&m);
	str_truncate(&out, 0);
	merge_compute(text("a\nb"), text("a\nx"), text("a\ny"), &m);
	merge_write(&m, &bare, &out);
	tap_eq_str(str_text(&out), "a\n<<<<<<<\nx\n|||||||\nb\n=======\ny\n>>>>>>>\n",
		   "without names; a missing newline is added");
	merge_release(&m);
	str_truncate(&out, 0);
	merge_compute(text("a\r\nb\r\n"), text("a\r\nx\r\n"), text("a\r\ny\r\n"), &m);
	merge_write(&m, &bare, &out);
	tap_eq_str(str_text(&out),
		   "a\r\n<<<<<<<\r\nx\r\n|||||||\r\nb\r\n=======\r\ny\r\n>>>>>>>\r\n",
		   "markers end as the lines do");
}

int main(void)
{
	test_table();
	test_regions();
	test_markers();
	return tap_done();
}
