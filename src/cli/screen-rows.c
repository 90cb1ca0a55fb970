/* SPDX-License-Identifier: MIT */
/* screen-rows - lines of any length and content as rows of a screen. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/screen.h"
#include "view/width.h"

enum { TAB = 8 };

void rows_release(struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		free(rows->items[i].text);
	free(rows->items);
	*rows = (struct rows){0};
}

static int add(struct rows *rows, enum patch_line kind, struct str *text)
{
	if (rows->n == rows->cap) {
		size_t cap = rows->cap ? rows->cap * 2 : 128;
		struct row *items = reallocarray(rows->items, cap, sizeof(*items));

		if (!items)
			return -ENOMEM;
		rows->items = items;
		rows->cap = cap;
	}
	if (!text->data && str_append(text, "") < 0)
		return -ENOMEM;
	rows->items[rows->n++] = (struct row){kind, text->data ? text->data : strdup("")};
	*text = (struct str){0};
	return 0;
}

/* Escaped, tabs as blanks. Whatever comes out has a width. */
static int spell(const char *text, size_t len, struct str *out)
{
	unsigned column = 0;
	int r = 0;

	while (len > 0 && r == 0) {
		uint32_t c = 0;
		size_t n = str_utf8_next(text, len, &c), before = out->len;

		n = n ? n : 1;
		if (*text == '\t') {
			do
				r = str_append_char(out, ' ');
			while (r == 0 && ++column % TAB != 0);
		} else {
			r = str_append_escaped(out, text, n);
			column += out->len - before > n ? (unsigned)(out->len - before)
							: char_width(c);
		}
		text += n;
		len -= n;
	}
	return r;
}

int rows_add(void *data, enum patch_line kind, const char *text, size_t len)
{
	struct rows *rows = data;
	_cleanup_(str_release) struct str line = {0};
	_cleanup_(str_release) struct str row = {0};
	unsigned column = 0, width = rows->width < 4 ? 4 : rows->width;
	const char *at;
	int r;

	len -= len > 0 && text[len - 1] == '\n';
	/* The mark of the line is no part of its text: tabs count from behind it. */
	r = kind == PATCH_HEADER || kind == PATCH_HUNK || len == 0
		    ? spell(text, len, &line)
		    : str_append_char(&line, text[0]);
	if (r == 0 && kind != PATCH_HEADER && kind != PATCH_HUNK && len > 0)
		r = spell(text + 1, len - 1, &line);
	at = str_text(&line);
	while (r == 0 && *at) {
		uint32_t c = 0;
		size_t n = str_utf8_next(at, strlen(at), &c);
		unsigned w = char_width(c);

		n = n ? n : 1;
		if (column + w > width) {
			r = add(rows, kind, &row);
			if (r == 0)
				r = str_append_char(&row, '>');
			column = 1;
		}
		if (r == 0)
			r = str_append_bytes(&row, at, n);
		column += w;
		at += n;
	}
	return r < 0 ? r : add(rows, kind, &row);
}
