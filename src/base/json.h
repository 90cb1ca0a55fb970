/* SPDX-License-Identifier: MIT */
/*
 * json - a streaming writer.
 *
 * Keys are NULL inside arrays and at the top. The first failed append is kept
 * and returned by json_end(). Bytes that are not UTF-8 become U+FFFD.
 * With `pretty`, two-space indentation; else one line.
 */
#pragma once
#include <stdbool.h>
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

void json_object(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_array(struct json *j, const char *key);
void json_array_end(struct json *j);
void json_string(struct json *j, const char *key, const char *value); /* NULL value: null */
void json_uint(struct json *j, const char *key, uint64_t value);
void json_int(struct json *j, const char *key, int64_t value);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
void json_strv(struct json *j, const char *key, const struct strv *values);
int json_end(struct json *j); /* 0 or -ENOMEM; BUG when something is still open */
