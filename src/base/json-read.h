/* SPDX-License-Identifier: MIT */
/*
 * json-read - look into JSON that pale itself has written.
 *
 * Values are slices of the text; nothing is allocated but decoded strings. It
 * never reads past the end and never loops on malformed text, but does not
 * insist that all of it is well formed: who reads what others write uses a real
 * parser.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_slice {
	const char *text;
	size_t len;
};

/* The first value of TEXT. False: there is none. */
bool json_slice_init(struct json_slice *ret, const char *text, size_t len);
/* The next member of OBJECT; *CURSOR starts as 0. False: no more, or no object. */
bool json_next(struct json_slice object, size_t *cursor, struct json_slice *ret_key,
	       struct json_slice *ret_value);
/* The next item of ARRAY, likewise. */
bool json_next_item(struct json_slice array, size_t *cursor, struct json_slice *ret_value);
/* The member KEY, which is plain ASCII. */
bool json_get(struct json_slice object, const char *key, struct json_slice *ret_value);
bool json_is_null(struct json_slice value);
/* The string TEXT, which has nothing that JSON escapes. */
bool json_is_text(struct json_slice value, const char *text);
/* False: it is no number that fits. */
bool json_get_uint(struct json_slice value, uint64_t *ret);
/* A new string, decoded; NULL: it is no string, or there is no memory. */
char *json_get_string(struct json_slice value);
/* The member KEY of OBJECT as such: a new string, or NULL. */
char *json_get_text(struct json_slice object, const char *key);
/* Likewise; ABSENT: what it is when there is no such number. */
uint64_t json_get_number(struct json_slice object, const char *key, uint64_t absent);
