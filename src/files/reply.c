/* SPDX-License-Identifier: MIT */
#include "files/reply.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HEADING "pale-file-1\n"
#define ENDING  "end 0:\n"

enum { DIGITS_MAX = 20 };

static const char *const code_names[FILE_CODE_COUNT_] = {
	[FILE_OK] = "ok",
	[FILE_NOT_FOUND] = "not_found",
	[FILE_BAD_PATH] = "bad_path",
	[FILE_OUTSIDE] = "outside",
	[FILE_DENIED] = "denied",
	[FILE_READONLY] = "readonly",
	[FILE_PROTECTED] = "protected",
	[FILE_NOT_REGULAR] = "not_regular",
	[FILE_BINARY] = "binary",
	[FILE_TOO_LARGE] = "too_large",
	[FILE_CHANGED] = "changed",
	[FILE_NO_MATCH] = "no_match",
	[FILE_AMBIGUOUS] = "ambiguous",
	[FILE_BAD_TEXT] = "bad_text",
	[FILE_BAD_PATTERN] = "bad_pattern",
	[FILE_FAILED] = "failed",
};

const char *file_code_name(enum file_code code)
{
	return code_names[code];
}

enum file_code file_code_by_name(const char *name, size_t len)
{
	int code = 0;

	while (code < FILE_CODE_COUNT_ &&
	       (strlen(code_names[code]) != len || memcmp(code_names[code], name, len) != 0))
		code++;
	return (enum file_code)code;
}

static int append_field(struct str *out, const char *key, const void *data, size_t len)
{
	int r = str_appendf(out, "%s %zu:", key, len);

	if (r == 0)
		r = str_append_bytes(out, data, len);
	return r < 0 ? r : str_append_char(out, '\n');
}

void reply_bytes(struct reply *a, const char *key, const void *data, size_t len)
{
	if (a->broken || len > REPLY_MAX - a->fields.len ||
	    append_field(&a->fields, key, data, len) < 0)
		a->broken = true;
}

void reply_fields(struct reply *a, const char *fields, size_t len)
{
	if (a->broken || len > REPLY_MAX - a->fields.len ||
	    str_append_bytes(&a->fields, fields, len) < 0)
		a->broken = true;
}

void reply_text(struct reply *a, const char *key, const char *text)
{
	reply_bytes(a, key, text, strlen(text));
}

void reply_number(struct reply *a, const char *key, uint64_t number)
{
	char digits[DIGITS_MAX + 1];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	reply_text(a, key, digits);
}

int reply_fail(struct reply *a, enum file_code code, const char *fmt, ...)
{
	va_list ap;

	a->code = code;
	va_start(ap, fmt);
	vsnprintf(a->message, sizeof(a->message), fmt, ap);
	va_end(ap);
	return 1;
}

void reply_hint(struct reply *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(a->hint, sizeof(a->hint), fmt, ap);
	va_end(ap);
}

int reply_finish(const struct reply *a, struct str *out)
{
	const char *message = a->broken ? "the answer is too large" : a->message;
	enum file_code code = a->broken ? FILE_FAILED : a->code;
	int r = str_append(out, HEADING);

	if (r == 0)
		r = append_field(out, "code", code_names[code], strlen(code_names[code]));
	if (r == 0 && code != FILE_OK)
		r = append_field(out, "message", message, strlen(message));
	if (r == 0 && a->hint[0])
		r = append_field(out, "hint", a->hint, strlen(a->hint));
	if (r == 0 && !a->broken && a->fields.len > 0)
		r = str_append_bytes(out, a->fields.data, a->fields.len);
	return r < 0 ? r : str_append(out, ENDING);
}

void reply_release(struct reply *a)
{
	str_release(&a->fields);
}

bool reply_begin(struct reply_reader *reader, const char *text, size_t len)
{
	size_t heading = strlen(HEADING);

	if (len < heading || memcmp(text, HEADING, heading) != 0)
		return false;
	*reader = (struct reply_reader){text + heading, text + len};
	return true;
}

void reply_begin_fields(struct reply_reader *reader, const char *fields, size_t len)
{
	*reader = (struct reply_reader){fields, fields + len};
}

static int take_key(struct reply_reader *reader, struct reply_field *ret)
{
	size_t len = 0;

	for (; reader->at < reader->end && *reader->at != ' '; reader->at++) {
		if (len == REPLY_KEY_MAX ||
		    ((*reader->at < 'a' || *reader->at > 'z') && *reader->at != '_'))
			return -EBADMSG;
		ret->key[len++] = *reader->at;
	}
	if (len == 0 || reader->at++ == reader->end)
		return -EBADMSG;
	ret->key[len] = '\0';
	return 0;
}

static bool take_digits(const char **at, const char *end, uint64_t *ret)
{
	const char *begin = *at;
	uint64_t n = 0;

	for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(**at - '0'), &n))
			return false;
	*ret = n;
	return *at > begin && (*begin != '0' || *at == begin + 1);
}

int reply_next(struct reply_reader *reader, struct reply_field *ret)
{
	uint64_t len;
	int r = take_key(reader, ret);

	if (r < 0)
		return r;
	if (!take_digits(&reader->at, reader->end, &len) || reader->at == reader->end ||
	    *reader->at++ != ':')
		return -EBADMSG;
	if (len >= (uint64_t)(reader->end - reader->at) || reader->at[len] != '\n')
		return -EBADMSG;
	ret->value = reader->at;
	ret->len = (size_t)len;
	reader->at += len + 1;
	if (!str_eq(ret->key, "end"))
		return 1;
	return ret->len == 0 && reader->at == reader->end ? 0 : -EBADMSG;
}

bool reply_get_number(const struct reply_field *field, uint64_t *ret)
{
	const char *at = field->value;

	return take_digits(&at, field->value + field->len, ret) && at == field->value + field->len;
}
