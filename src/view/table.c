/* SPDX-License-Identifier: MIT */
#include "view/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define GAP 2

void table_release(struct table *table)
{
	strv_release(&table->cells);
}

int table_add(struct table *table, const char *cell)
{
	_cleanup_(str_release) struct str text = {0};

	if (!cell)
		cell = "-";
	if (str_append_escaped(&text, cell, strlen(cell)) < 0)
		return -ENOMEM;
	return strv_add(&table->cells, str_text(&text));
}

/* Characters, not bytes: near enough for alignment. */
static size_t text_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static int put_cell(struct str *out, const char *text, size_t pad)
{
	int r = str_append(out, text);
	size_t width = text_width(text);

	return r < 0 || pad == 0 ? r : str_appendf(out, "%*s", (int)(pad + GAP - width), "");
}

/* As much of TEXT as has room, and a sign that there was more. */
static int put_cut(struct str *out, const char *text, size_t room)
{
	size_t len = 0;

	if (room == 0 || text_width(text) <= room)
		return str_append(out, text);
	for (size_t width = 0; text[len]; len++) {
		width += ((unsigned char)text[len] & 0xc0) != 0x80;
		if (width == room)
			break;
	}
	return str_appendf(out, "%.*s…", (int)len, text);
}

/* The last cell of a row is not padded: no blanks at the end of a line. */
static int put_row(struct str *out, const char *const *cells, const struct table *table,
		   const size_t *widths)
{
	size_t last = table->columns - 1, used = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < last; i++) {
		r = put_cell(out, cells[i], widths[i]);
		used += widths[i] + GAP;
	}
	if (r == 0)
		r = put_cut(out, cells[last], table->width > used + 8 ? table->width - used : 0);
	return r < 0 ? r : str_append_char(out, '\n');
}

static void measure(const char *const *cells, size_t columns, size_t *widths)
{
	for (size_t i = 0; i < columns; i++) {
		size_t width = text_width(cells[i]);

		if (width > widths[i])
			widths[i] = width;
	}
}

int table_print(const struct table *table, struct str *out)
{
	_cleanup_(freep) size_t *widths = calloc(table->columns, sizeof(*widths));
	const char *const *cells = (const char *const *)table->cells.items;
	size_t rows = table->cells.len / table->columns;
	int r = 0;

	if (!widths)
		return -ENOMEM;
	if (table->heads)
		measure(table->heads, table->columns, widths);
	for (size_t i = 0; i < rows; i++)
		measure(cells + i * table->columns, table->columns, widths);
	if (table->heads)
		r = put_row(out, table->heads, table, widths);
	for (size_t i = 0; r == 0 && i < rows; i++)
		r = put_row(out, cells + i * table->columns, table, widths);
	return r;
}
