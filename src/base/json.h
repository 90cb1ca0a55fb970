/* SPDX-License-Identifier: MIT */
/*
 * json - a streaming writer.
 *
 * Keys are NULL inside arrays and at the top. The first failed append is kept
 * and returned by json_finish(). Bytes that are not UTF-8 become U+FFFD.
 * With `pretty`, two-space indentation; else one line.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str;
struct strv;

struct json {
	struct str *out;
	bool pretty;
	bool need_comma;
	unsigned depth;
	int error;
};

void json_begin_object(struct json *j, const char *key);
void json_end_object(struct json *j);
void json_begin_array(struct json *j, const char *key);
void json_end_array(struct json *j);
void json_add_string(struct json *j, const char *key, const char *value); /* NULL value: null */
/* LEN bytes, which may hold NULs. */
void json_add_bytes(struct json *j, const char *key, const char *data, size_t len);
void json_add_uint(struct json *j, const char *key, uint64_t value);
void json_add_known(struct json *j, const char *key, uint64_t value); /* UINT64_MAX: null */
void json_add_int(struct json *j, const char *key, int64_t value);
void json_add_bool(struct json *j, const char *key, bool value);
void json_add_null(struct json *j, const char *key);
/* TEXT is JSON already, and one line; NULL: null. */
void json_add_raw(struct json *j, const char *key, const char *text);
void json_add_raw_bytes(struct json *j, const char *key, const char *text, size_t len);
void json_add_strv(struct json *j, const char *key, const struct strv *values);
int json_finish(struct json *j); /* 0 or -ENOMEM; BUG when something is still open */
