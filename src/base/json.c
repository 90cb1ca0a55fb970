/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

static void put_bytes(struct json *j, const char *bytes, size_t len)
{
	if (j->error == 0)
		j->error = str_append_bytes(j->out, bytes, len);
}

static void put(struct json *j, const char *text)
{
	put_bytes(j, text, strlen(text));
}

static void put_char(struct json *j, char c)
{
	if (j->error == 0)
		j->error = str_append_char(j->out, c);
}

static void put_escape(struct json *j, uint32_t c)
{
	static const char *const names[0x20] = {
		['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f", ['\r'] = "\\r",
	};

	if (c == '"' || c == '\\')
		put_bytes(j, (char[]){'\\', (char)c}, 2);
	else if (c < 0x20 && names[c])
		put(j, names[c]);
	else if (j->error == 0)
		j->error = str_appendf(j->out, "\\u%04x", c);
}

/* More than JSON asks for: what a terminal obeys (DEL, C1) and what changes the
 * order or shape of text that a person reads (marks of width and direction). */
static bool is_special(uint32_t c)
{
	return c < 0x20 || c == '"' || c == '\\' || (c >= 0x7f && c < 0xa0) || c == 0xad ||
	       c == 0x61c || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

/* Most of what is written, and needs no second look. */
static bool is_plain(char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

static void put_quoted_bytes(struct json *j, const char *text, size_t len)
{
	size_t plain = 0, i = 0;

	put_char(j, '"');
	while (i < len) {
		uint32_t c = 0;
		size_t n;

		if (is_plain(text[i])) {
			i++;
			continue;
		}
		n = str_utf8_next(text + i, len - i, &c);
		if (n > 0 && !is_special(c)) {
			i += n;
			continue;
		}
		put_bytes(j, text + plain, i - plain);
		if (n == 0)
			put(j, "\xef\xbf\xbd");
		else
			put_escape(j, c);
		i += n ? n : 1;
		plain = i;
	}
	put_bytes(j, text + plain, i - plain);
	put_char(j, '"');
}

/* The same for text that is JSON already, where nothing beyond ASCII is outside of strings. */
static void put_raw(struct json *j, const char *text)
{
	size_t plain = 0, i = 0, len = strlen(text);

	while (i < len) {
		uint32_t c = 0;
		size_t n = (unsigned char)text[i] < 0x7f ? 1 : str_utf8_next(text + i, len - i, &c);

		if (c >= 0x7f && is_special(c)) {
			put_bytes(j, text + plain, i - plain);
			put_escape(j, c);
			plain = i + n;
		}
		i += n ? n : 1;
	}
	put_bytes(j, text + plain, i - plain);
}

static void put_quoted(struct json *j, const char *text)
{
	put_quoted_bytes(j, text, strlen(text));
}

static void put_break(struct json *j)
{
	if (!j->pretty)
		return;
	put(j, "\n");
	for (unsigned i = 0; i < j->depth; i++)
		put(j, "  ");
}

static void begin_value(struct json *j, const char *key)
{
	if (j->need_comma)
		put_char(j, ',');
	if (j->depth > 0)
		put_break(j);
	if (key) {
		put_quoted(j, key);
		put(j, j->pretty ? ": " : ":");
	}
	j->need_comma = true;
}

static void open_group(struct json *j, const char *key, const char *bracket)
{
	begin_value(j, key);
	put(j, bracket);
	j->depth++;
	j->need_comma = false;
}

static void close_group(struct json *j, const char *bracket)
{
	if (j->depth == 0)
		BUG("json: nothing is open");
	j->depth--;
	/* No comma is due only right after the opening: "{}", not "{\n}". */
	if (j->need_comma)
		put_break(j);
	put(j, bracket);
	j->need_comma = true;
}

void json_begin_object(struct json *j, const char *key)
{
	open_group(j, key, "{");
}

void json_end_object(struct json *j)
{
	close_group(j, "}");
}

void json_begin_array(struct json *j, const char *key)
{
	open_group(j, key, "[");
}

void json_end_array(struct json *j)
{
	close_group(j, "]");
}

void json_add_string(struct json *j, const char *key, const char *value)
{
	begin_value(j, key);
	if (value)
		put_quoted(j, value);
	else
		put(j, "null");
}

void json_add_bytes(struct json *j, const char *key, const char *data, size_t len)
{
	begin_value(j, key);
	put_quoted_bytes(j, data, len);
}

void json_add_uint(struct json *j, const char *key, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	begin_value(j, key);
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	put_bytes(j, digits + at, sizeof(digits) - at);
}

void json_add_known(struct json *j, const char *key, uint64_t value)
{
	if (value == UINT64_MAX)
		json_add_null(j, key);
	else
		json_add_uint(j, key, value);
}

void json_add_int(struct json *j, const char *key, int64_t value)
{
	if (value >= 0) {
		json_add_uint(j, key, (uint64_t)value);
		return;
	}
	begin_value(j, key);
	if (j->error == 0)
		j->error = str_appendf(j->out, "%" PRId64, value);
}

void json_add_bool(struct json *j, const char *key, bool value)
{
	begin_value(j, key);
	put(j, value ? "true" : "false");
}

void json_add_null(struct json *j, const char *key)
{
	begin_value(j, key);
	put(j, "null");
}

void json_add_raw(struct json *j, const char *key, const char *text)
{
	begin_value(j, key);
	put_raw(j, text ? text : "null");
}

void json_add_strv(struct json *j, const char *key, const struct strv *values)
{
	json_begin_array(j, key);
	for (size_t i = 0; i < values->len; i++)
		json_add_string(j, NULL, values->items[i]);
	json_end_array(j);
}

void json_add_raw_bytes(struct json *j, const char *key, const char *text, size_t len)
{
	begin_value(j, key);
	put_bytes(j, text, len);
}

int json_finish(struct json *j)
{
	if (j->depth > 0)
		BUG("json: an object or array is still open");
	return j->error;
}
