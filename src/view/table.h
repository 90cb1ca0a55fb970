/* SPDX-License-Identifier: MIT */
/*
 * table - aligned columns of text.
 *
 * Cells may come from files that nobody vouches for: what could confuse a
 * terminal, or break a row in two, is escaped.
 */
#pragma once
#include "base/str.h"

struct table {
	const char *const *heads; /* NULL-terminated; NULL: no heading */
	size_t columns;
	struct strv cells;
	size_t width; /* of the terminal: the last column is cut to fit; 0: it is not */
};

void table_release(struct table *table);
int table_add(struct table *table, const char *cell); /* the next one; NULL: "-" */
int table_print(const struct table *table, struct str *out);
