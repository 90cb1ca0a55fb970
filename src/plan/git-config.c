/* SPDX-License-Identifier: MIT */
#include "plan/git-config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

#define GITFILE_PREFIX "gitdir: "
#define BOM            "\xef\xbb\xbf"

struct scan {
	const char *at, *end;
	struct str section, subsection, key, value;
	bool has_subsection;
};

static void scan_release(struct scan *s)
{
	str_release(&s->section);
	str_release(&s->subsection);
	str_release(&s->key);
	str_release(&s->value);
}

/* A line may end in CR LF. -1 at the end. */
static int peek(const struct scan *s)
{
	if (s->at == s->end)
		return -1;
	if (s->at[0] == '\r' && s->at + 1 < s->end && s->at[1] == '\n')
		return '\n';
	return (unsigned char)s->at[0];
}

static int next(struct scan *s)
{
	int c = peek(s);

	if (c >= 0)
		s->at += c == '\n' && s->at[0] == '\r' ? 2 : 1;
	return c;
}

static void skip_line(struct scan *s)
{
	for (int c = next(s); c >= 0 && c != '\n';)
		c = next(s);
}

static bool is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* After the bracket; 1 when it is none. */
static int read_section(struct scan *s)
{
	int r = 0, c;

	str_truncate(&s->section, 0);
	str_truncate(&s->subsection, 0);
	s->has_subsection = false;
	while (r == 0 && (isalnum(peek(s)) || peek(s) == '-' || peek(s) == '.'))
		r = str_append_char(&s->section, (char)tolower(next(s)));
	while (is_blank(peek(s)))
		next(s);
	if (peek(s) == '"') {
		s->has_subsection = true;
		next(s);
		for (c = next(s); r == 0 && c >= 0 && c != '\n' && c != '"'; c = next(s)) {
			if (c == '\\')
				c = next(s);
			if (c < 0 || c == '\n')
				return 1;
			r = str_append_char(&s->subsection, (char)c);
		}
		if (r == 0 && c != '"')
			return 1;
	}
	return r < 0 ? r : next(s) != ']';
}

static int unescape(int c)
{
	switch (c) {
	case 't':
		return '\t';
	case 'b':
		return '\b';
	case 'n':
		return '\n';
	case '\\':
	case '"':
		return c;
	default:
		return -1;
	}
}

/* To the end of the line; 1 when git would not take it. */
static int read_value(struct scan *s)
{
	bool quoted = false;
	size_t end = 0; /* blanks at the end do not count */
	int c, r = 0;

	str_truncate(&s->value, 0);
	while (is_blank(peek(s)))
		next(s);
	for (c = next(s); r == 0 && c >= 0 && c != '\n'; c = next(s)) {
		if (!quoted && (c == '#' || c == ';')) {
			skip_line(s);
			break;
		}
		if (c == '"') {
			quoted = !quoted;
			end = s->value.len;
			continue;
		}
		if (c == '\\') {
			c = next(s);
			if (c == '\n')
				continue;
			c = unescape(c);
			if (c < 0)
				return 1;
			r = str_append_char(&s->value, (char)c);
			end = s->value.len;
			continue;
		}
		r = str_append_char(&s->value, (char)c);
		if (quoted || !is_blank(c))
			end = s->value.len;
	}
	str_truncate(&s->value, end);
	return r < 0 ? r : quoted;
}

/* 1: git would refuse it. */
static int read_variable(struct scan *s, bool *ret_bare)
{
	int r = 0;

	str_truncate(&s->key, 0);
	while (r == 0 && (isalnum(peek(s)) || peek(s) == '-'))
		r = str_append_char(&s->key, (char)tolower(next(s)));
	if (r < 0 || s->key.len == 0)
		return r < 0 ? r : 1;
	while (is_blank(peek(s)))
		next(s);
	*ret_bare = peek(s) == '\n' || peek(s) < 0;
	if (*ret_bare)
		return 0;
	return next(s) == '=' ? read_value(s) : 1;
}

int git_config_scan(const char *text, size_t len, git_config_fn *fn, void *data)
{
	_cleanup_(scan_release) struct scan s = {.at = text, .end = text + len};
	bool bare = false;
	int r = 0;

	if (len >= 3 && memcmp(text, BOM, 3) == 0)
		s.at += 3;
	while (r == 0 && peek(&s) >= 0) {
		int c = peek(&s);

		if (is_blank(c) || c == '\n') {
			next(&s);
		} else if (c == '#' || c == ';') {
			skip_line(&s);
		} else if (c == '[') {
			next(&s);
			r = read_section(&s);
		} else {
			r = read_variable(&s, &bare);
			if (r == 0)
				r = fn(data, str_text(&s.section),
				       s.has_subsection ? str_text(&s.subsection) : NULL,
				       str_text(&s.key), bare ? NULL : str_text(&s.value));
		}
	}
	return r > 0 ? 0 : r;
}

int git_pointer_parse(const char *text, size_t len, char **ret_path)
{
	if (len == 0)
		return -EINVAL;
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	*ret_path = strndup(text, len); /* up to a NUL, as git does */
	return *ret_path ? 0 : -ENOMEM;
}

int git_file_parse(const char *text, size_t len, char **ret_path)
{
	const size_t prefix = strlen(GITFILE_PREFIX);

	if (len < prefix || memcmp(text, GITFILE_PREFIX, prefix) != 0)
		return -EINVAL;
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	if (len < prefix + 1)
		return -EINVAL;
	return git_pointer_parse(text + prefix, len - prefix, ret_path);
}
