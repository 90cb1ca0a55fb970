/* SPDX-License-Identifier: MIT */
/*
 * Values without delimiters: booleans, numbers, date-times. The readers take
 * one word and return NULL, or what is wrong with it.
 */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "config/toml-impl.h"

static const char no_memory[] = "no memory";

struct word {
	const char *s;
	size_t len;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool word_is(struct word w, const char *text)
{
	return w.len == strlen(text) && memcmp(w.s, text, w.len) == 0;
}

static int digit_value(char c, int base)
{
	int lower = c | 0x20;
	int v = 99;

	if (is_digit(c))
		v = c - '0';
	else if (lower >= 'a' && lower <= 'f')
		v = lower - 'a' + 10;
	return v < base ? v : -1;
}

/* A run of digits, single underscores between them; 0: there is none. */
static size_t digits_len(struct word w, size_t at, int base)
{
	size_t i = at;

	while (i < w.len && digit_value(w.s[i], base) >= 0) {
		i++;
		if (i + 1 < w.len && w.s[i] == '_' && digit_value(w.s[i + 1], base) >= 0)
			i++;
	}
	return i - at;
}

static const char *read_integer(struct word w, size_t at, int base, struct toml_value *value)
{
	bool negative = w.s[0] == '-';
	uint64_t limit = (uint64_t)INT64_MAX + negative;
	uint64_t n = 0;

	for (; at < w.len; at++) {
		if (w.s[at] == '_')
			continue;
		if (__builtin_mul_overflow(n, (uint64_t)base, &n) ||
		    __builtin_add_overflow(n, (uint64_t)digit_value(w.s[at], base), &n) ||
		    n > limit)
			return "the number does not fit 64 bits";
	}
	value->type = TOML_INTEGER;
	value->integer = negative ? (int64_t)(0 - n) : (int64_t)n;
	return NULL;
}

static const char *read_based(struct word w, struct toml_value *value)
{
	int base = w.s[1] == 'x' ? 16 : w.s[1] == 'o' ? 8 : 2;

	if (w.len == 2 || digits_len(w, 2, base) != w.len - 2)
		return base == 16  ? "malformed hexadecimal number"
		       : base == 8 ? "malformed octal number"
				   : "malformed binary number";
	return read_integer(w, 2, base, value);
}

/* The shape has been checked. strtod() follows the locale of the program that
 * we are linked into, so give it that locale's decimal point. */
static const char *read_float(struct toml *doc, struct word w, struct toml_value *value)
{
	const char *point = localeconv()->decimal_point;
	size_t point_len = strlen(point);
	char *buf = toml_alloc(doc, w.len + point_len + 1);
	char *out = buf;

	if (!buf)
		return no_memory;
	for (size_t i = 0; i < w.len; i++) {
		if (w.s[i] == '.') {
			memcpy(out, point, point_len);
			out += point_len;
		} else if (w.s[i] != '_') {
			*out++ = w.s[i];
		}
	}
	*out = '\0';
	value->type = TOML_FLOAT;
	value->number = strtod(buf, NULL);
	return isinf(value->number) ? "the number is too large" : NULL;
}

/* The fraction and the exponent at *AT, which is moved behind them. */
static const char *skip_fraction(struct word w, size_t *at)
{
	size_t n;

	if (w.s[*at] == '.') {
		n = digits_len(w, *at + 1, 10);
		if (n == 0)
			return "a decimal point needs digits on both sides";
		*at += n + 1;
	}
	if (*at < w.len && (w.s[*at] == 'e' || w.s[*at] == 'E')) {
		++*at;
		if (*at < w.len && (w.s[*at] == '+' || w.s[*at] == '-'))
			++*at;
		n = digits_len(w, *at, 10);
		if (n == 0)
			return "the exponent has no digits";
		*at += n;
	}
	return NULL;
}

static const char *read_number(struct toml *doc, struct word w, struct toml_value *value)
{
	size_t start = w.s[0] == '+' || w.s[0] == '-';
	size_t n = digits_len(w, start, 10);
	size_t at = start + n;
	const char *wrong;

	if (w.len > 1 && w.s[0] == '0' && strchr("xob", w.s[1]))
		return read_based(w, value);
	if (n == 0)
		return "not a value";
	if (n > 1 && w.s[start] == '0')
		return "a number cannot begin with 0";
	if (at == w.len)
		return read_integer(w, start, 10, value);
	wrong = skip_fraction(w, &at);
	if (wrong)
		return wrong;
	if (at < w.len)
		return w.s[at] == '_' ? "'_' must stand between digits" : "not a value";
	return read_float(doc, w, value);
}

/* Exactly N digits at the front of W, which is shortened. */
static bool take_digits(struct word *w, size_t n, unsigned *ret)
{
	unsigned v = 0;

	if (w->len < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!is_digit(w->s[i]))
			return false;
		v = v * 10 + (unsigned)(w->s[i] - '0');
	}
	w->s += n;
	w->len -= n;
	*ret = v;
	return true;
}

static bool take_char(struct word *w, const char *any)
{
	if (w->len == 0 || !strchr(any, *w->s))
		return false;
	w->s++;
	w->len--;
	return true;
}

static unsigned days_in_month(unsigned year, unsigned month)
{
	static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

static const char *take_date(struct word *w, struct toml_time *t)
{
	unsigned year, month, day;

	if (!take_digits(w, 4, &year) || !take_char(w, "-") || !take_digits(w, 2, &month) ||
	    !take_char(w, "-") || !take_digits(w, 2, &day))
		return "a date is written YYYY-MM-DD";
	if (month < 1 || month > 12)
		return "there is no such month";
	if (day < 1 || day > days_in_month(year, month))
		return "there is no such day in this month";
	t->year = (unsigned short)year;
	t->month = (unsigned char)month;
	t->day = (unsigned char)day;
	return NULL;
}

static const char *take_time(struct word *w, struct toml_time *t)
{
	unsigned hour, minute, second;
	unsigned scale = 100000000;

	if (!take_digits(w, 2, &hour) || !take_char(w, ":") || !take_digits(w, 2, &minute) ||
	    !take_char(w, ":") || !take_digits(w, 2, &second))
		return "a time is written HH:MM:SS";
	if (hour > 23 || minute > 59 || second > 60)
		return "there is no such time of day";
	t->hour = (unsigned char)hour;
	t->minute = (unsigned char)minute;
	t->second = (unsigned char)second;
	if (!take_char(w, "."))
		return NULL;
	if (w->len == 0 || !is_digit(*w->s))
		return "a fraction of a second needs digits";
	for (; w->len && is_digit(*w->s); w->s++, w->len--, scale /= 10)
		t->nanosecond += (unsigned)(*w->s - '0') * scale;
	return NULL;
}

static const char *take_offset(struct word *w, struct toml_time *t)
{
	bool west = w->len && *w->s == '-';
	unsigned hour, minute;

	if (take_char(w, "zZ"))
		return NULL;
	if (!take_char(w, "+-") || !take_digits(w, 2, &hour) || !take_char(w, ":") ||
	    !take_digits(w, 2, &minute))
		return "an offset is written Z, +HH:MM or -HH:MM";
	if (hour > 23 || minute > 59)
		return "there is no such offset from UTC";
	t->offset = (short)(west ? -(int)(hour * 60 + minute) : (int)(hour * 60 + minute));
	return NULL;
}

static const char *read_time(struct word w, struct toml_value *value)
{
	struct toml_time *t = &value->time;
	const char *wrong;

	if (w.s[2] == ':') {
		value->type = TOML_TIME_LOCAL;
		wrong = take_time(&w, t);
		return wrong ? wrong : w.len ? "a local time has no offset" : NULL;
	}
	value->type = TOML_DATE_LOCAL;
	wrong = take_date(&w, t);
	if (wrong || w.len == 0)
		return wrong;
	value->type = TOML_DATETIME_LOCAL;
	if (!take_char(&w, "Tt "))
		return "a date is written YYYY-MM-DD";
	wrong = take_time(&w, t);
	if (wrong || w.len == 0)
		return wrong;
	value->type = TOML_DATETIME;
	wrong = take_offset(&w, t);
	return wrong ? wrong : w.len ? "unexpected text after the offset" : NULL;
}

static bool looks_like_date(struct word w)
{
	return w.len >= 5 && w.s[4] == '-' && is_digit(w.s[0]) && is_digit(w.s[1]) &&
	       is_digit(w.s[2]) && is_digit(w.s[3]);
}

static bool looks_like_time(struct word w)
{
	return w.len >= 3 && w.s[2] == ':' && is_digit(w.s[0]) && is_digit(w.s[1]);
}

static size_t word_len(const char *s)
{
	return strcspn(s, " \t\r\n,]}#");
}

static const char *read_word(struct toml *doc, struct word w, struct toml_value *value)
{
	size_t sign = *w.s == '+' || *w.s == '-';
	struct word rest = {w.s + sign, w.len - sign};

	if (word_is(w, "true") || word_is(w, "false")) {
		value->type = TOML_BOOL;
		value->boolean = *w.s == 't';
		return NULL;
	}
	if (word_is(rest, "inf") || word_is(rest, "nan")) {
		value->type = TOML_FLOAT;
		value->number = *rest.s == 'i' ? (double)INFINITY : (double)NAN;
		if (*w.s == '-')
			value->number = -value->number;
		return NULL;
	}
	if (looks_like_date(w) || looks_like_time(w))
		return read_time(w, value);
	return read_number(doc, w, value);
}

/* Somebody forgot the quotes: show the value with them, up to where it ends
 * beyond doubt. */
static int hint_quotes(struct toml_parser *p, size_t start, struct word w, int r)
{
	size_t len = strcspn(p->text + start, "\r\n,]}#\"'\\");
	char c = p->text[start + len];

	if (w.len == 4 && strncasecmp(w.s, "true", 4) == 0)
		return err_hint(p->err, r, "booleans are lower case: true");
	if (w.len == 5 && strncasecmp(w.s, "false", 5) == 0)
		return err_hint(p->err, r, "booleans are lower case: false");
	if (c == '"' || c == '\'' || c == '\\')
		return r;
	while (len && (p->text[start + len - 1] == ' ' || p->text[start + len - 1] == '\t'))
		len--;
	if (len == 0 || len > 100)
		return r;
	return err_hint(p->err, r, "if it is text, quote it: \"%.*s\"", (int)len, p->text + start);
}

int toml_lex_plain(struct toml_parser *p, struct toml_value *value)
{
	size_t start = p->at;
	struct word w = {p->text + start, word_len(p->text + start)};
	const char *wrong;
	int r;

	if (w.len == 0)
		return toml_fail(p, start, "expected a value");
	/* Only between a date and a time can a blank be part of a value. */
	if (w.len == 10 && looks_like_date(w) && w.s[10] == ' ' && is_digit(w.s[11]))
		w.len += 1 + word_len(w.s + 11);
	wrong = read_word(p->doc, w, value);
	p->at = start + w.len;
	if (!wrong)
		return 0;
	if (wrong == no_memory)
		return err_oom(p->err);
	if (w.len > 60) { /* not through the middle of a character */
		for (w.len = 60; ((unsigned char)w.s[w.len] & 0xc0) == 0x80;)
			w.len--;
	}
	r = toml_fail(p, start, "%.*s: %s", (int)w.len, w.s, wrong);
	return hint_quotes(p, start, w, r);
}
