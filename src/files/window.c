/* SPDX-License-Identifier: MIT */
#include "files/window.h"

#include <string.h>

void window_init(struct window *w, uint64_t first, uint64_t limit)
{
	*w = (struct window){.first = first ? first : 1,
			     .limit = limit ? limit : WINDOW_LINES_DEFAULT};
}

size_t window_fit(const char *text, size_t len, size_t max)
{
	size_t n = max;

	if (len <= max)
		return len;
	for (int back = 0; back < 3 && n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80; back++)
		n--;
	return ((unsigned char)text[n] & 0xc0) == 0x80 ? max : n;
}

/* Is the line at hand one to be shown? */
static bool is_shown(const struct window *w)
{
	return w->lines >= w->first && w->next == 0;
}

static void begin_line(struct window *w)
{
	w->in_line = true;
	w->line_bytes = 0;
	w->lines++;
	if (w->lines < w->first || w->next)
		return;
	if (w->shown == w->limit || w->text.len >= WINDOW_BYTES_MAX)
		w->next = w->lines;
	else
		w->shown++;
}

/* Back from the last byte to the border of a character. */
static int mark_cut(struct window *w)
{
	size_t begin = w->text.len - WINDOW_LINE_MAX;

	str_truncate(&w->text, begin + window_fit(w->text.data + begin, WINDOW_LINE_MAX + 1,
						  WINDOW_LINE_MAX - 3));
	w->cut++;
	return str_appendf(&w->text, " […%zu bytes]", w->line_bytes);
}

static int end_line(struct window *w, bool newline)
{
	int r = 0;

	w->in_line = false;
	if (!is_shown(w))
		return 0;
	if (w->line_bytes > WINDOW_LINE_MAX)
		r = mark_cut(w);
	return r == 0 && newline ? str_append_char(&w->text, '\n') : r;
}

static int add_part(struct window *w, const char *data, size_t len)
{
	size_t room = w->line_bytes < WINDOW_LINE_MAX ? WINDOW_LINE_MAX - w->line_bytes : 0;

	w->line_bytes += len;
	if (!is_shown(w))
		return 0;
	return str_append_bytes(&w->text, data, len < room ? len : room);
}

int window_add(struct window *w, const char *data, size_t len)
{
	const char *end = data + len;
	int r = 0;

	w->has_nul |= memchr(data, '\0', len) != NULL;
	while (data < end && r == 0) {
		const char *newline = memchr(data, '\n', (size_t)(end - data));
		size_t part = (size_t)((newline ? newline : end) - data);

		if (!w->in_line)
			begin_line(w);
		r = add_part(w, data, part);
		if (r == 0 && newline)
			r = end_line(w, true);
		data += part + (newline != NULL);
	}
	return r;
}

int window_end(struct window *w)
{
	return w->in_line ? end_line(w, false) : 0;
}

void window_release(struct window *w)
{
	str_release(&w->text);
}
