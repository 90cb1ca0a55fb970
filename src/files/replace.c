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

/* The place after AT, where OLD is as well, or NULL. A search costs at least the length of OLD, so
 * that places close to each other must be told by something else. Two that are no farther apart
 * than half of it are so by the period of OLD: then only what is new is compared. All others are so
 * few that all searches together take time proportional to the text. */
static const char *find_next(const char *at, const char *end, const char *old, size_t len,
			     size_t *period)
{
	const char *next;

	if (*period > 0 && (size_t)(end - at) - len >= *period &&
	    memcmp(at + len, old + len - *period, *period) == 0)
		return at + *period;
	next = memmem(at + 1, (size_t)(end - at) - 1, old, len);
	if (next && (size_t)(next - at) <= len / 2)
		*period = (size_t)(next - at);
	return next;
}

void replace_find(const char *text, size_t len, const char *old, size_t old_len,
		  struct replace_found *ret)
{
	const char *end = text + len, *counted = text;
	const char *at = old_len > 0 ? memmem(text, len, old, old_len) : NULL;
	size_t line = 1, period = 0;

	*ret = (struct replace_found){0};
	for (; at; at = find_next(at, end, old, old_len, &period)) {
		if (ret->count < REPLACE_LINES_MAX) {
			line += count_newlines(counted, at);
			counted = at;
			ret->lines[ret->count] = line;
		}
		ret->count++;
	}
}

static int append_up_to(struct str *out, size_t max, const char *text, size_t len)
{
	if (len == 0)
		return 0;
	return len > max - out->len ? -EFBIG : str_append_bytes(out, text, len);
}

long replace_all(const char *text, size_t len, const struct str *old, const struct str *new,
		 size_t max, struct str *out)
{
	const char *end = text + len, *at;
	long count = 0;
	int r = str_append(out, "");

	while (r == 0 && (at = memmem(text, (size_t)(end - text), old->data, old->len))) {
		r = append_up_to(out, max, text, (size_t)(at - text));
		if (r == 0)
			r = append_up_to(out, max, new->data, new->len);
		text = at + old->len;
		count++;
	}
	if (r == 0)
		r = append_up_to(out, max, text, (size_t)(end - text));
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
