/* SPDX-License-Identifier: MIT */
/* Columns line up, and no cell breaks out of its row. */
#include "base/cleanup.h"
#include "tap.h"
#include "view/table.h"

static void check(const char *const *heads, size_t columns, const char *const *cells, size_t len,
		  const char *want, const char *name)
{
	_cleanup_(table_release) struct table table = {.heads = heads, .columns = columns};
	_cleanup_(str_release) struct str out = {0};

	for (size_t i = 0; i < len; i++)
		table_add(&table, cells[i]);
	tap_ok(table_print(&table, &out) == 0, "%s: printed", name);
	tap_eq_str(str_text(&out), want, "%s", name);
}

int main(void)
{
	static const char *const heads[] = {"A", "LONG", NULL};
	static const char *const cells[] = {"wide cell", "x", "y", NULL};
	static const char *const odd[] = {"\xc3\xa9\xc3\xa9", "1", "ab\n", "\033[2J"};

	check(heads, 2, cells, 4, "A          LONG\nwide cell  x\ny          -\n",
	      "columns are aligned, the last is not padded");
	check(NULL, 2, odd, 4, "\xc3\xa9\xc3\xa9      1\nab\\x0a  \\x1b[2J\n",
	      "characters count once, control bytes are escaped");
	check(heads, 2, NULL, 0, "A  LONG\n", "no rows");
	check(NULL, 1, NULL, 0, "", "nothing at all");
	return tap_done();
}
