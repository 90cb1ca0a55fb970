/* SPDX-License-Identifier: MIT */
#include "base/json-read.h"

#include <string.h>

#include "base/str.h"

static size_t skip_blank(const char *text, size_t len, size_t at)
{
	while (at < len && strchr(" \t\r\n", text[at]) && text[at])
		at++;
	return at;
}

/* Past the string that begins at AT; LEN + 1: it does not end. */
static size_t skip_string(const char *text, size_t len, size_t at)
{
	for (at++; at < len; at++) {
		if (text[at] == '"')
			return at + 1;
		if (text[at] == '\\')
			at++;
	}
	return len + 1;
}

static size_t skip_group(const char *text, size_t len, size_t at)
{
	size_t depth = 0;

	while (at < len) {
		char c = text[at];

		if (c == '"') {
			at = skip_string(text, len, at);
			continue;
		}
		at++;
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			return at;
	}
	return len + 1;
}

/* Past the value that begins at AT, LEN + 1: there is none. */
static size_t skip_value(const char *text, size_t len, size_t at)
{
	size_t begin = at;

	if (at >= len)
		return len + 1;
	if (text[at] == '"')
		return skip_string(text, len, at);
	if (text[at] == '{' || text[at] == '[')
		return skip_group(text, len, at);
	while (at < len && (strchr("+-.", text[at]) || (text[at] >= '0' && text[at] <= '9') ||
			    (text[at] >= 'a' && text[at] <= 'z') || text[at] == 'E'))
		at++;
	return at > begin ? at : len + 1;
}

static bool take_value(const char *text, size_t len, size_t *at, struct json_slice *ret)
{
	size_t begin = skip_blank(text, len, *at), end = skip_value(text, len, begin);

	if (end > len)
		return false;
	*ret = (struct json_slice){text + begin, end - begin};
	*at = skip_blank(text, len, end);
	return true;
}

bool json_slice_init(struct json_slice *ret, const char *text, size_t len)
{
	size_t at = 0;

	return take_value(text, len, &at, ret);
}

/* Past the opening bracket, or the comma before the next one. */
static bool begin_next(struct json_slice group, char bracket, size_t *at)
{
	if (group.len == 0 || group.text[0] != bracket)
		return false;
	if (*at > 0 && (*at >= group.len || group.text[*at] != ','))
		return false;
	++*at;
	return true;
}

bool json_next_item(struct json_slice array, size_t *cursor, struct json_slice *ret_value)
{
	size_t at = *cursor;

	if (!begin_next(array, '[', &at) || !take_value(array.text, array.len, &at, ret_value))
		return false;
	*cursor = at;
	return true;
}

bool json_next(struct json_slice object, size_t *cursor, struct json_slice *ret_key,
	       struct json_slice *ret_value)
{
	const char *text = object.text;
	size_t len = object.len, at = *cursor;
	struct json_slice key, value;

	if (!begin_next(object, '{', &at))
		return false;
	if (!take_value(text, len, &at, &key) || key.text[0] != '"' || at >= len || text[at] != ':')
		return false;
	at++;
	if (!take_value(text, len, &at, &value))
		return false;
	*cursor = at;
	*ret_key = key;
	*ret_value = value;
	return true;
}

bool json_get(struct json_slice object, const char *key, struct json_slice *ret_value)
{
	size_t cursor = 0, len = strlen(key);
	struct json_slice name, value;

	while (json_next(object, &cursor, &name, &value)) {
		if (name.len == len + 2 && memcmp(name.text + 1, key, len) == 0) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

bool json_is_text(struct json_slice value, const char *text)
{
	size_t len = strlen(text);

	return value.len == len + 2 && value.text[0] == '"' &&
	       memcmp(value.text + 1, text, len) == 0;
}

bool json_is_null(struct json_slice value)
{
	return value.len == 4 && memcmp(value.text, "null", 4) == 0;
}

bool json_get_uint(struct json_slice value, uint64_t *ret)
{
	uint64_t n = 0;

	if (value.len == 0)
		return false;
	for (size_t i = 0; i < value.len; i++) {
		char c = value.text[i];

		if (c < '0' || c > '9' || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(c - '0'), &n))
			return false;
	}
	*ret = n;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The writer escapes nothing above U+FFFF. */
static bool append_unicode(struct str *out, const char *hex)
{
	unsigned c = 0;

	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(hex[i]);

		if (digit < 0)
			return false;
		c = c << 4 | (unsigned)digit;
	}
	if (c == 0 || (c >= 0xd800 && c < 0xe000))
		return false;
	if (c < 0x80)
		return str_append_char(out, (char)c) == 0;
	if (c < 0x800)
		return str_append_char(out, (char)(0xc0 | c >> 6)) == 0 &&
		       str_append_char(out, (char)(0x80 | (c & 0x3f))) == 0;
	return str_append_char(out, (char)(0xe0 | c >> 12)) == 0 &&
	       str_append_char(out, (char)(0x80 | (c >> 6 & 0x3f))) == 0 &&
	       str_append_char(out, (char)(0x80 | (c & 0x3f))) == 0;
}

/* The escape at TEXT, of which LEN bytes are left. Returns its length, or 0. */
static size_t append_escape(struct str *out, const char *text, size_t len)
{
	static const char letters[] = "btnfr\"\\/", meant[] = "\b\t\n\f\r\"\\/";
	const char *found;

	if (len >= 6 && text[1] == 'u')
		return append_unicode(out, text + 2) ? 6 : 0;
	found = len >= 2 && text[1] ? strchr(letters, text[1]) : NULL;
	return found && str_append_char(out, meant[found - letters]) == 0 ? 2 : 0;
}

char *json_get_string(struct json_slice value)
{
	struct str out = {0};
	size_t end;

	if (value.len < 2 || value.text[0] != '"' || str_append(&out, "") < 0)
		return NULL;
	end = value.len - 1;
	for (size_t i = 1, n; i < end; i += n) {
		if (value.text[i] == '\\')
			n = append_escape(&out, value.text + i, end - i);
		else
			n = value.text[i] && str_append_char(&out, value.text[i]) == 0;
		if (n == 0) {
			str_release(&out);
			return NULL;
		}
	}
	return out.data;
}

char *json_get_text(struct json_slice object, const char *key)
{
	struct json_slice value;

	return json_get(object, key, &value) ? json_get_string(value) : NULL;
}

uint64_t json_get_number(struct json_slice object, const char *key, uint64_t absent)
{
	struct json_slice value;
	uint64_t n;

	return json_get(object, key, &value) && json_get_uint(value, &n) ? n : absent;
}
