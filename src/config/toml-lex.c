/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/toml-impl.h"

#define BOM "\xef\xbb\xbf"

/* The place is counted from the offset here, so that it is right wherever the
 * parser happens to stand. */
int toml_fail(struct toml_parser *p, size_t at, const char *fmt, ...)
{
	struct toml_pos pos = {1, 1};
	char message[512];
	size_t line_start = p->len >= 3 && memcmp(p->text, BOM, 3) == 0 && at >= 3 ? 3 : 0;
	va_list ap;

	for (size_t i = 0; i < at && i < p->len; i++) {
		if (p->text[i] == '\n') {
			pos.line++;
			line_start = i + 1;
		}
	}
	pos.column = (unsigned)(at - line_start) + 1;
	if (p->ret_pos)
		*p->ret_pos = pos;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	return err_set(p->err, ERR_CONFIG, -EINVAL, "%s", message);
}

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

size_t toml_utf8_len(const char *s, size_t len)
{
	unsigned char first = (unsigned char)s[0];
	unsigned char second;
	size_t n = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4 || len < n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if (!is_continuation(s[i]))
			return 0;
	}
	/* Overlong forms, surrogates, and what is past U+10FFFF. */
	second = (unsigned char)s[1];
	if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
	    (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90))
		return 0;
	return n;
}

/* No context of TOML allows a control character other than tab and newline,
 * so one pass settles it and nothing after it meets a NUL before the end. */
int toml_lex_check(struct toml_parser *p)
{
	size_t i = 0;

	while (i < p->len) {
		unsigned char c = (unsigned char)p->text[i];
		size_t n;

		if ((c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t' ||
		    (c == '\r' && p->text[i + 1] == '\n')) {
			i++;
			continue;
		}
		if (c == '\r')
			return toml_fail(p, i, "carriage return without a newline");
		if (c < 0x80)
			return toml_fail(p, i, "control character 0x%02x is not allowed", c);
		n = toml_utf8_len(p->text + i, p->len - i);
		if (n == 0)
			return toml_fail(p, i, "byte 0x%02x is not valid UTF-8", c);
		i += n;
	}
	return 0;
}

void toml_lex_blanks(struct toml_parser *p)
{
	while (p->text[p->at] == ' ' || p->text[p->at] == '\t')
		p->at++;
}

bool toml_lex_newline(struct toml_parser *p)
{
	size_t at = p->at;

	if (p->text[at] == '\r')
		at++;
	if (p->text[at] != '\n')
		return false;
	p->at = at + 1;
	p->line++;
	p->line_start = p->at;
	return true;
}

void toml_lex_comment(struct toml_parser *p)
{
	if (p->text[p->at] != '#')
		return;
	while (p->at < p->len && p->text[p->at] != '\n' && p->text[p->at] != '\r')
		p->at++;
}

bool toml_is_bare(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static size_t utf8_put(char *out, unsigned c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* \uXXXX or \UXXXXXXXX at *AT, which is moved behind it. */
static int decode_unicode(struct toml_parser *p, size_t *at, char *out, size_t *out_len)
{
	size_t digits = p->text[*at + 1] == 'u' ? 4 : 8;
	unsigned c = 0;

	for (size_t i = 0; i < digits; i++) {
		int digit = hex_value(p->text[*at + 2 + i]);

		if (digit < 0)
			return toml_fail(p, *at, "\\%c needs %zu hexadecimal digits",
					 p->text[*at + 1], digits);
		c = c << 4 | (unsigned)digit;
	}
	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return toml_fail(p, *at, "U+%04X is not a Unicode character", c);
	*out_len += utf8_put(out + *out_len, c);
	*at += 2 + digits;
	return 0;
}

/* The length of a line-ending backslash with the white space that it eats;
 * 0: it is not one. */
static size_t folded_len(const struct toml_parser *p, size_t at, size_t end)
{
	size_t i = at + 1;
	bool newline = false;

	for (; i < end && strchr(" \t\r\n", p->text[i]); i++)
		newline |= p->text[i] == '\n';
	return newline ? i - at : 0;
}

static int decode_basic(struct toml_parser *p, size_t at, size_t end, bool multi, char *out,
			size_t *ret_len)
{
	static const char letters[] = "btnfr\"\\";
	static const char meanings[] = "\b\t\n\f\r\"\\";
	size_t len = 0;
	size_t folded;
	int r;

	while (at < end) {
		const char *letter;
		char c = p->text[at];

		if (c != '\\') {
			out[len++] = c;
			at++;
			continue;
		}
		c = p->text[at + 1];
		letter = strchr(letters, c);
		if (letter && c) {
			out[len++] = meanings[letter - letters];
			at += 2;
		} else if (c == 'u' || c == 'U') {
			r = decode_unicode(p, &at, out, &len);
			if (r < 0)
				return r;
		} else if (multi && (folded = folded_len(p, at, end)) > 0) {
			at += folded;
		} else {
			r = toml_fail(p, at, "unknown escape in a string");
			return err_hint(p->err, r,
					"write \\\\ for a backslash, or use a literal "
					"string: '…'");
		}
	}
	*ret_len = len;
	return 0;
}

/* Where the text of the string that began at START ends. */
static int find_end(struct toml_parser *p, size_t start, bool multi, size_t *ret_end)
{
	char quote = p->text[start];
	size_t at = start + (multi ? 3 : 1);

	for (;; at++) {
		char c = p->text[at];
		size_t run = 0;

		if (at >= p->len)
			return toml_fail(p, start, "the string is not closed");
		if (!multi && (c == '\n' || c == '\r'))
			return toml_fail(p, start, "the string is not closed on its line");
		if (c == '\\' && quote == '"' && p->text[at + 1] != '\n' && at + 1 < p->len) {
			at++;
			continue;
		}
		if (c != quote)
			continue;
		/* Up to two quotes may stand before the closing three. */
		while (run < 5 && p->text[at + run] == quote)
			run++;
		if (!multi || run >= 3) {
			*ret_end = multi ? at + run - 3 : at;
			return 0;
		}
		at += run - 1;
	}
}

int toml_lex_string(struct toml_parser *p, const char **ret_bytes, size_t *ret_len)
{
	const char *s = p->text + p->at;
	bool multi = s[1] == s[0] && s[2] == s[0];
	size_t start = p->at + (multi ? 3 : 1);
	size_t end = 0;
	size_t len;
	char *bytes;
	int r;

	r = find_end(p, p->at, multi, &end);
	if (r < 0)
		return r;
	for (size_t i = start; multi && i < end; i++) {
		if (p->text[i] == '\n') {
			p->line++;
			p->line_start = i + 1;
		}
	}
	p->at = end + (multi ? 3 : 1);
	if (multi && p->text[start] == '\n')
		start++;
	else if (multi && p->text[start] == '\r')
		start += 2;
	len = end - start;
	bytes = toml_alloc(p->doc, len + 1);
	if (!bytes)
		return err_oom(p->err);
	if (*s == '\'') {
		memcpy(bytes, p->text + start, len);
	} else {
		r = decode_basic(p, start, end, multi, bytes, &len);
		if (r < 0)
			return r;
	}
	bytes[len] = '\0';
	*ret_bytes = bytes;
	*ret_len = len;
	return 0;
}

static int lex_key(struct toml_parser *p, struct toml_key *key)
{
	const char *s = p->text + p->at;
	char *bytes;
	int r;

	key->start = p->at;
	if (*s == '"' || *s == '\'') {
		if (s[1] == s[0] && s[2] == s[0])
			return toml_fail(p, p->at, "a multi-line string cannot be a key");
		r = toml_lex_string(p, &key->bytes, &key->len);
		key->end = p->at;
		return r;
	}
	while (toml_is_bare(p->text[p->at]))
		p->at++;
	key->end = p->at;
	key->len = key->end - key->start;
	if (key->len == 0)
		return toml_fail(p, p->at, "expected a key");
	bytes = toml_alloc(p->doc, key->len + 1);
	if (!bytes)
		return err_oom(p->err);
	memcpy(bytes, s, key->len);
	bytes[key->len] = '\0';
	key->bytes = bytes;
	return 0;
}

int toml_lex_keys(struct toml_parser *p)
{
	int r;

	p->keys_len = 0;
	for (;;) {
		toml_lex_blanks(p);
		if (p->keys_len == TOML_DEPTH_MAX)
			return toml_fail(p, p->at, "nested more than %d levels deep",
					 TOML_DEPTH_MAX);
		r = lex_key(p, &p->keys[p->keys_len]);
		if (r < 0)
			return r;
		p->keys_len++;
		toml_lex_blanks(p);
		if (p->text[p->at] != '.')
			return 0;
		p->at++;
	}
}
