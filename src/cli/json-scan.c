/* SPDX-License-Identifier: MIT */
#include "cli/json-scan.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

struct scan {
	const char *at, *end;
	unsigned depth;
	const char *key; /* of the top-level object */
	bool inside;     /* in the object that KEY names */
	struct strv *names;
};

static int scan_value(struct scan *s);

static char peek(const struct scan *s)
{
	return s->at < s->end ? *s->at : '\0';
}

static void skip_blanks(struct scan *s)
{
	while (s->at < s->end && strchr(" \t\r\n", *s->at) && *s->at)
		s->at++;
}

static int expect(struct scan *s, char c)
{
	skip_blanks(s);
	if (peek(s) != c || s->at >= s->end)
		return -EINVAL;
	s->at++;
	return 0;
}

static int scan_hex(struct scan *s, unsigned *ret)
{
	*ret = 0;
	for (int i = 0; i < 4; i++) {
		char c = peek(s);
		const char *digits = "0123456789abcdef", *digit;

		digit = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;
		if (!digit)
			return -EINVAL;
		*ret = *ret * 16 + (unsigned)(digit - digits);
		s->at++;
	}
	return 0;
}

/* After the backslash. What is not ASCII becomes 0xff: it is in no name. */
static int scan_escape(struct scan *s, struct str *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = peek(s);
	const char *known = c ? strchr(from, c) : NULL;
	unsigned code = 0xff;
	int r = 0;

	s->at += c != '\0';
	if (known)
		return str_append_char(out, to[known - from]);
	r = c == 'u' ? scan_hex(s, &code) : -EINVAL;
	return r < 0 ? r : str_append_char(out, code > 0 && code < 0x80 ? (char)code : '\xff');
}

static int scan_string(struct scan *s, struct str *out)
{
	int r = expect(s, '"');

	while (r == 0 && s->at < s->end) {
		unsigned char c = (unsigned char)*s->at++;

		if (c == '"')
			return 0;
		if (c < 0x20)
			return -EINVAL;
		r = c == '\\' ? scan_escape(s, out) : str_append_char(out, (char)c);
	}
	return r < 0 ? r : -EINVAL;
}

static size_t skip_digits(struct scan *s)
{
	const char *from = s->at;

	while (peek(s) >= '0' && peek(s) <= '9')
		s->at++;
	return (size_t)(s->at - from);
}

static int scan_number(struct scan *s)
{
	s->at += peek(s) == '-';
	if (peek(s) == '0')
		s->at++;
	else if (skip_digits(s) == 0)
		return -EINVAL;
	if (peek(s) == '.') {
		s->at++;
		if (skip_digits(s) == 0)
			return -EINVAL;
	}
	if (peek(s) == 'e' || peek(s) == 'E') {
		s->at++;
		s->at += peek(s) == '+' || peek(s) == '-';
		if (skip_digits(s) == 0)
			return -EINVAL;
	}
	return 0;
}

static int scan_word(struct scan *s)
{
	static const char *const words[] = {"true", "false", "null"};

	for (size_t i = 0; i < array_len(words); i++) {
		size_t len = strlen(words[i]);

		if ((size_t)(s->end - s->at) >= len && memcmp(s->at, words[i], len) == 0) {
			s->at += len;
			return 0;
		}
	}
	return scan_number(s);
}

static int scan_member(struct scan *s)
{
	_cleanup_(str_release) struct str name = {0};
	bool outer = s->inside;
	int r = scan_string(s, &name);

	if (r == 0)
		r = expect(s, ':');
	if (r < 0)
		return r;
	skip_blanks(s);
	if (s->inside && s->depth == 2 && peek(s) == '"')
		r = strv_add(s->names, str_text(&name));
	s->inside = s->depth == 1 ? str_eq(str_text(&name), s->key) : s->inside;
	if (r == 0)
		r = scan_value(s);
	s->inside = outer;
	return r;
}

static int scan_group(struct scan *s, char close)
{
	int r = ++s->depth > JSON_SCAN_DEPTH ? -EINVAL : 0;

	s->at++;
	skip_blanks(s);
	while (r == 0 && peek(s) != close) {
		r = close == '}' ? scan_member(s) : scan_value(s);
		skip_blanks(s);
		if (r < 0 || peek(s) != ',')
			break;
		s->at++;
		skip_blanks(s);
		if (peek(s) == close)
			return -EINVAL;
	}
	s->depth--;
	return r < 0 ? r : expect(s, close);
}

static int scan_value(struct scan *s)
{
	_cleanup_(str_release) struct str ignored = {0};

	skip_blanks(s);
	switch (peek(s)) {
	case '{':
		return scan_group(s, '}');
	case '[':
		return scan_group(s, ']');
	case '"':
		return scan_string(s, &ignored);
	default:
		return scan_word(s);
	}
}

int json_scan_names(const char *text, size_t len, const char *key, struct strv *ret)
{
	struct scan scan = {.at = text, .end = text + len, .key = key, .names = ret};
	int r = scan_value(&scan);

	if (r < 0)
		return r;
	skip_blanks(&scan);
	return scan.at == scan.end ? 0 : -EINVAL;
}
