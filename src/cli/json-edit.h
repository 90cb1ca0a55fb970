/* SPDX-License-Identifier: MIT */
/*
 * json-edit - one value put into a JSON file that belongs to somebody else.
 *
 * The text is not written anew: what is to be added is inserted where it belongs, laid out
 * like its neighbours, and every byte that was there stays. Before the result is handed out
 * it is parsed again, and must be the old document with that one value in it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct json_t;
struct str;

struct json_put {
	const char *const *path; /* keys from the root, plain ASCII */
	size_t n;
	struct json_t *value; /* borrowed */
	bool is_item;         /* it belongs into the list at PATH, which may hold others */
	bool force;           /* replace a value that differs */
	bool comments;        /* the file's reader takes comments and commas before a bracket */
};

/* TEXT with PUT in it; an empty one gives a new document. 0: it is there already, just
 * so; 1: *RET_TEXT is appended to. -EINVAL: TEXT is no such JSON; -EEXIST: something
 * else is there; -ENOTDIR: PATH leads through something that is no object. */
int json_edit(const char *text, size_t len, const struct json_put *put, struct str *ret_text,
	      struct err *err);
