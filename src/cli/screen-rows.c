/* SPDX-License-Identifier: MIT */
/* screen-rows - lines of any length and content as rows of a screen. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/screen.h"

enum { TAB = 8 };

unsigned char_width(uint32_t c)
{
	static const struct {
		uint32_t from, to;
		unsigned width;
	} ranges[] = {
		{0x0300, 0x036f, 0},   {0x0483, 0x0489, 0},   {0x0591, 0x05bd, 0},
		{0x0610, 0x061a, 0},   {0x064b, 0x065f, 0},   {0x1100, 0x115f, 2},
		{0x1ab0, 0x1aff, 0},   {0x1dc0, 0x1dff, 0},   {0x20d0, 0x20ff, 0},
		{0x2e80, 0x303e, 2},   {0x3041, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},
		{0xf900, 0xfaff, 2},   {0xfe00, 0xfe0f, 0},   {0xfe20, 0xfe2f, 0},
		{0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
		{0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1f9ff, 2},
		{0x20000, 0x3fffd, 2}, {0xe0100, 0xe01ef, 0},
	};

	for (size_t i = 0; i < array_len(ranges) && ranges[i].from <= c; i++)
		if (c <= ranges[i].to)
			return ranges[i].width;
	return 1;
}

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
