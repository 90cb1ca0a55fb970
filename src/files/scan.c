/* SPDX-License-Identifier: MIT */
#include "files/scan.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "files/window.h"

static unsigned char lower(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

/* After Horspool: where the text does not fit, its last byte says how far to go on. */
static int init_text(struct scan *scan, const char *pattern)
{
	size_t len = strlen(pattern);

	scan->text = strdup(pattern);
	scan->len = len;
	if (!scan->text)
		return -ENOMEM;
	for (size_t i = 0; i < len && scan->ignore_case; i++)
		scan->text[i] = (char)lower((unsigned char)scan->text[i]);
	for (unsigned c = 0; c < 256; c++)
		scan->skip[c] = len;
	for (size_t i = 0; i + 1 < len; i++)
		scan->skip[(unsigned char)scan->text[i]] = len - 1 - i;
	for (unsigned c = 'A'; c <= 'Z' && scan->ignore_case; c++)
		scan->skip[c] = scan->skip[c | 0x20];
	return 0;
}

int scan_init(struct scan *scan, const char *pattern, bool fixed, bool ignore_case,
	      const char **ret_why)
{
	int r;

	*scan = (struct scan){.ignore_case = ignore_case};
	*ret_why = NULL;
	if (strchr(pattern, '\n')) {
		*ret_why = "it goes over the end of a line";
		return -EINVAL;
	}
	if (fixed || !pattern[strcspn(pattern, "\\^$.[]|()*+?{}")])
		return init_text(scan, pattern);
	r = regex_compile(pattern, ignore_case, &scan->regex, ret_why);
	if (r == 0 && scan->regex.must[0])
		r = init_text(scan, scan->regex.must);
	if (r < 0)
		return r;
	scan->matcher = matcher_new(&scan->regex);
	return scan->matcher ? 0 : -ENOMEM;
}

void scan_release(struct scan *scan)
{
	free(scan->text);
	matcher_free(scan->matcher);
	regex_release(&scan->regex);
	*scan = (struct scan){0};
}

static bool is_same(const struct scan *scan, const unsigned char *at)
{
	const unsigned char *text = (const unsigned char *)scan->text;

	if (!scan->ignore_case)
		return memcmp(at, text, scan->len) == 0;
	for (size_t i = 0; i < scan->len; i++)
		if (lower(at[i]) != text[i])
			return false;
	return true;
}

static const char *find_text(const struct scan *scan, const char *text, size_t len)
{
	const unsigned char *at = (const unsigned char *)text, *last;
	unsigned char wanted;

	if (scan->len == 0)
		return text;
	if (len < scan->len)
		return NULL;
	if (scan->len == 1 && !scan->ignore_case)
		return memchr(text, scan->text[0], len);
	last = at + len - scan->len;
	wanted = (unsigned char)scan->text[scan->len - 1];
	while (at <= last) {
		unsigned char c = at[scan->len - 1];

		if ((c == wanted || (scan->ignore_case && lower(c) == wanted)) && is_same(scan, at))
			return (const char *)at;
		at += scan->skip[c];
	}
	return NULL;
}

/* The expression is asked only about lines that hold what it must match. */
static const char *find_both(struct scan *scan, const char *text, size_t len)
{
	const char *end = text + len, *at;

	while (text < end && (at = find_text(scan, text, (size_t)(end - text)))) {
		const char *before = memrchr(text, '\n', (size_t)(at - text));
		const char *begin = before ? before + 1 : text;
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t line = (size_t)((newline ? newline + 1 : end) - begin);
		const char *found = matcher_find(scan->matcher, begin, line);

		if (found)
			return found;
		text = begin + line;
	}
	return NULL;
}

const char *scan_find(struct scan *scan, const char *text, size_t len)
{
	if (len == 0)
		return NULL;
	if (!scan->matcher)
		return find_text(scan, text, len);
	return scan->text ? find_both(scan, text, len) : matcher_find(scan->matcher, text, len);
}

/* What has been told of a text so far. */
struct lines {
	const char *text, *end;
	struct str *out;
	const char *counted; /* lines up to here are in `number` */
	uint64_t number;     /* of the line that begins at `counted`, from 1 on */
	const char *told;    /* up to here all that is to be told was */
	uint64_t after;      /* lines of context that are still due */
};

static const char *line_begin(const struct lines *l, const char *at)
{
	const char *newline = memrchr(l->text, '\n', (size_t)(at - l->text));

	return newline ? newline + 1 : l->text;
}

static const char *line_end(const struct lines *l, const char *at)
{
	const char *newline = memchr(at, '\n', (size_t)(l->end - at));

	return newline ? newline : l->end;
}

static uint64_t number_at(struct lines *l, const char *begin)
{
	const char *newline;

	while (l->counted < begin &&
	       (newline = memchr(l->counted, '\n', (size_t)(begin - l->counted)))) {
		l->number++;
		l->counted = newline + 1;
	}
	return l->number;
}

/* As a field of a reply: "LINE CUT KIND TEXT". */
static int tell(struct lines *l, const char *begin, const char *end, char kind)
{
	size_t len = (size_t)(end - begin), shown = window_fit(begin, len, SCAN_LINE_MAX);
	char head[64];
	int head_len = snprintf(head, sizeof(head), "%llu %zu %c ",
				(unsigned long long)number_at(l, begin), len - shown, kind);
	int r = str_appendf(l->out, "line %zu:", (size_t)head_len + shown);

	if (r == 0)
		r = str_append_bytes(l->out, head, (size_t)head_len);
	if (r == 0)
		r = str_append_bytes(l->out, begin, shown);
	l->told = end < l->end ? end + 1 : l->end;
	return r < 0 ? r : str_append_char(l->out, '\n');
}

/* Context that an earlier match left due, up to LIMIT. */
static int tell_after(struct lines *l, const char *limit)
{
	int r = 0;

	while (l->after > 0 && l->told < limit && r == 0) {
		r = tell(l, l->told, line_end(l, l->told), 'c');
		l->after--;
	}
	return r;
}

static int tell_before(struct lines *l, const char *begin, uint64_t context)
{
	const char *from = begin;
	int r = 0;

	while (context-- > 0 && from > l->told && from > l->text)
		from = line_begin(l, from - 1);
	if (from < l->told)
		from = l->told;
	while (from < begin && r == 0) {
		r = tell(l, from, line_end(l, from), 'c');
		from = l->told;
	}
	return r;
}

long scan_lines(struct scan *scan, const char *text, size_t len, uint64_t first, uint64_t context,
		uint64_t max, struct str *out)
{
	struct lines l = {.text = text,
			  .end = text + len,
			  .out = out,
			  .counted = text,
			  .number = first,
			  .told = text};
	const char *at = text, *found;
	long count = 0;
	int r = 0;

	while (at < l.end && r == 0 && (found = scan_find(scan, at, (size_t)(l.end - at)))) {
		const char *begin = line_begin(&l, found), *end;

		if ((uint64_t)count == max)
			return count + 1;
		/* an empty text is found at the very end of the last line */
		if (begin == l.end)
			break;
		end = line_end(&l, found);
		r = tell_after(&l, begin);
		if (r == 0 && context > 0)
			r = tell_before(&l, begin, context);
		if (r == 0)
			r = tell(&l, begin, end, 'm');
		l.after = context;
		count++;
		at = l.told;
	}
	if (r == 0)
		r = tell_after(&l, l.end);
	return r < 0 ? r : count;
}
