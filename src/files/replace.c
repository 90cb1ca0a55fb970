/* SPDX-License-Identifier: MIT */
#include "files/replace.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

static size_t count_newlines(const char *from, const char *to)
{
	size_t n = 0;

	while ((from = memchr(from, '\n', (size_t)(to - from)))) {
		from++;
		n++;
	}
	return n;
}

void replace_find(const char *text, size_t len, const char *old, size_t old_len,
		  struct replace_found *ret)
{
	const char *at = text, *end = text + len, *counted = text;
	size_t line = 1;

	*ret = (struct replace_found){0};
	while (old_len > 0 && (at = memmem(at, (size_t)(end - at), old, old_len))) {
		if (ret->count < REPLACE_LINES_MAX) {
			line += count_newlines(counted, at);
			counted = at;
			ret->lines[ret->count] = line;
		}
		ret->count++;
		at++;
	}
}

long replace_all(const char *text, size_t len, const struct str *old, const struct str *new,
		 struct str *out)
{
	const char *end = text + len, *at;
	long count = 0;
	int r = str_append(out, "");

	while (r == 0 && (at = memmem(text, (size_t)(end - text), old->data, old->len))) {
		r = str_append_bytes(out, text, (size_t)(at - text));
		if (r == 0 && new->len > 0)
			r = str_append_bytes(out, new->data, new->len);
		text = at + old->len;
		count++;
	}
	if (r == 0 && text < end)
		r = str_append_bytes(out, text, (size_t)(end - text));
	return r < 0 ? r : count;
}

/* OLD with every line end as asked. */
static int with_line_ends(const struct str *old, bool crlf, struct str *out)
{
	int r = str_append(out, "");

	for (size_t i = 0; i < old->len && r == 0; i++) {
		bool is_crlf = old->data[i] == '\r' && i + 1 < old->len && old->data[i + 1] == '\n';

		if (is_crlf)
			i++;
		if (old->data[i] == '\n')
			r = str_append(out, crlf ? "\r\n" : "\n");
		else
			r = str_append_char(out, old->data[i]);
	}
	return r;
}

const char *replace_line_ends(const char *text, size_t len, const struct str *old)
{
	for (int crlf = 0; crlf <= 1; crlf++) {
		_cleanup_(str_release) struct str other = {0};

		if (with_line_ends(old, crlf, &other) < 0)
			return NULL;
		if (memmem(text, len, str_text(&other), other.len))
			return crlf ? "CRLF" : "LF";
	}
	return NULL;
}
