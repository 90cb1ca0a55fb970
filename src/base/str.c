/* SPDX-License-Identifier: MIT */
#include "base/str.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void str_release(struct str *s)
{
	free(s->data);
	*s = (struct str){0};
}

int str_reserve(struct str *s, size_t extra)
{
	size_t need, cap;
	char *data;

	if (extra >= SIZE_MAX / 2 - s->len)
		return -ENOMEM;
	need = s->len + extra + 1;
	if (need <= s->cap)
		return 0;
	cap = s->cap < 32 ? 64 : s->cap * 2;
	if (cap < need)
		cap = need;
	data = realloc(s->data, cap);
	if (!data)
		return -ENOMEM;
	s->data = data;
	s->cap = cap;
	s->data[s->len] = '\0';
	return 0;
}

int str_append_bytes(struct str *s, const void *bytes, size_t len)
{
	int r = len < s->cap - s->len ? 0 : str_reserve(s, len);

	if (r < 0)
		return r;
	if (len > 0)
		memcpy(s->data + s->len, bytes, len);
	s->len += len;
	s->data[s->len] = '\0';
	return 0;
}

int str_append(struct str *s, const char *text)
{
	return str_append_bytes(s, text, strlen(text));
}

int str_append_char(struct str *s, char c)
{
	if (s->cap - s->len < 2)
		return str_append_bytes(s, &c, 1);
	s->data[s->len++] = c;
	s->data[s->len] = '\0';
	return 0;
}

static bool is_simple(const char *fmt)
{
	for (; *fmt; fmt++)
		if (*fmt == '%' && *++fmt != 's' && *fmt != 'u')
			return false;
	return true;
}

static int append_number(struct str *s, unsigned number)
{
	char digits[10];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	return str_append_bytes(s, digits + at, sizeof(digits) - at);
}

/* FMT knows nothing but "%s" and "%u". On failure what is there already stays. */
static int append_simple(struct str *s, const char *fmt, va_list ap)
{
	size_t before = s->len;
	int r = 0;

	while (*fmt && r == 0) {
		size_t len = 0;

		while (fmt[len] && fmt[len] != '%')
			len++;
		r = str_append_bytes(s, fmt, len);
		fmt += len;
		if (*fmt && r == 0 && fmt[1] == 'u') {
			r = append_number(s, va_arg(ap, unsigned));
			fmt += 2;
		} else if (*fmt && r == 0) {
			const char *text = va_arg(ap, const char *);

			r = str_append(s, text ? text : "(null)");
			fmt += 2;
		}
	}
	if (r < 0)
		str_truncate(s, before);
	return r;
}

/* Most formats only put texts together. That takes no printf. */
int str_vappendf(struct str *s, const char *fmt, va_list ap)
{
	va_list again;
	int n, r = str_reserve(s, 48); /* enough, as a rule, for what is formatted only once then */

	if (r < 0)
		return r;
	if (is_simple(fmt))
		return append_simple(s, fmt, ap);
	va_copy(again, ap);
	n = vsnprintf(s->data + s->len, s->cap - s->len, fmt, again);
	va_end(again);
	if (n >= 0 && (size_t)n < s->cap - s->len) {
		s->len += (size_t)n;
		return 0;
	}
	s->data[s->len] = '\0';
	if (n < 0)
		return -EINVAL;
	r = str_reserve(s, (size_t)n);
	if (r < 0)
		return r;
	vsnprintf(s->data + s->len, (size_t)n + 1, fmt, ap);
	s->len += (size_t)n;
	return 0;
}

int str_appendf(struct str *s, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = str_vappendf(s, fmt, ap);
	va_end(ap);
	return r;
}

void str_truncate(struct str *s, size_t len)
{
	if (len >= s->len)
		return;
	s->len = len;
	s->data[len] = '\0';
}

const char *str_text(const struct str *s)
{
	return s->data ? s->data : "";
}

bool str_eq(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
	size_t len = strlen(s), n = strlen(suffix);

	return n <= len && memcmp(s + len - n, suffix, n) == 0;
}

char *str_printf(const char *fmt, ...)
{
	struct str s = {0};
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = str_vappendf(&s, fmt, ap);
	va_end(ap);
	if (r < 0)
		str_release(&s);
	return s.data;
}

size_t str_utf8_next(const char *text, size_t len, uint32_t *ret_char)
{
	static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)text;
	uint32_t c;
	size_t n;

	if (len == 0)
		return 0;
	if (p[0] < 0x80)
		n = 1;
	else if ((p[0] & 0xe0) == 0xc0)
		n = 2;
	else if ((p[0] & 0xf0) == 0xe0)
		n = 3;
	else if ((p[0] & 0xf8) == 0xf0)
		n = 4;
	else
		return 0;
	if (n > len)
		return 0;
	c = n == 1 ? p[0] : p[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < lowest[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret_char = c;
	return n;
}

/* What moves, hides or reorders the text around it on a terminal, and what is not seen at
 * all: Unicode's Default_Ignorable_Code_Point, in which whole programs have been hidden. */
static bool is_deceptive(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
		{0x061c, 0x061c},   {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
		{0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164},
		{0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},
		{0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
	};

	for (size_t i = 0; i < array_len(ranges); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

int str_append_escaped(struct str *s, const char *text, size_t len)
{
	size_t before = s->len;
	int r = str_append(s, "");

	for (size_t i = 0; r == 0 && i < len;) {
		uint32_t c = 0;
		size_t n = str_utf8_next(text + i, len - i, &c);

		if (n == 0 || (n == 1 && is_deceptive(c)))
			r = str_appendf(s, "\\x%02x", (unsigned char)text[i]);
		else if (is_deceptive(c))
			r = str_appendf(s, "\\u{%x}", (unsigned)c);
		else
			r = str_append_bytes(s, text + i, n);
		i += n ? n : 1;
	}
	if (r < 0)
		str_truncate(s, before);
	return r;
}

#define NEAREST_MAX 64 /* longer words have no near candidates */

static char fold(char c)
{
	if (c == '_')
		return '-';
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* Edits to turn A into B: insert, delete, replace, swap two neighbours. */
static unsigned edit_distance(const char *a, size_t alen, const char *b, size_t blen)
{
	unsigned rows[3][NEAREST_MAX + 1];
	unsigned *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= blen; j++)
		above[j] = (unsigned)j;
	for (size_t i = 1; i <= alen; i++) {
		unsigned *spare = before;

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= blen; j++) {
			char x = fold(a[i - 1]), y = fold(b[j - 1]);

			row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == fold(b[j - 2]) && fold(a[i - 2]) == y &&
			    before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		before = above;
		above = row;
		row = spare;
	}
	return above[blen];
}

const char *str_nearest(const char *word, const char *const *candidates, size_t n)
{
	size_t len = strlen(word);
	unsigned limit = len / 3 > 1 ? (unsigned)(len / 3) : 1;
	const char *best = NULL;

	if (len > NEAREST_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t clen = strlen(candidates[i]);
		unsigned d;

		if (clen > NEAREST_MAX)
			continue;
		d = edit_distance(word, len, candidates[i], clen);
		/* As many edits as letters: nothing in common. */
		if (d > limit || d >= len || d >= clen || (best && d == limit))
			continue;
		best = candidates[i];
		limit = d;
	}
	return best;
}

bool str_is_utf8(const char *text, size_t len)
{
	uint32_t c;

	for (size_t i = 0, n; i < len; i += n) {
		n = (unsigned char)text[i] < 0x80 ? 1 : str_utf8_next(text + i, len - i, &c);
		if (n == 0)
			return false;
	}
	return true;
}
