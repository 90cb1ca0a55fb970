/* SPDX-License-Identifier: MIT */
/*
 * rpc - JSON-RPC 2.0, one message per line: what comes in, checked; what goes out.
 *
 * Strict, and bounded before anything is parsed: the length of a line, how deep it
 * nests, how many values it holds. An id is kept as its JSON text, so that two are the
 * same when their texts are.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum {
	RPC_LINE_MAX = 16 << 20,
	RPC_DEPTH_MAX = 64,
	RPC_VALUES_MAX = 200000,
	RPC_ID_MAX = 256,
};

enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
	RPC_NO_RESOURCE = -32002,
	RPC_BUSY = -32000,
};

struct rpc_error {
	int code;
	char message[512];
};
/* Returns CODE, which is negative. */
int rpc_fail(struct rpc_error *error, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Lines out of a stream, in memory that RPC_LINE_MAX bounds. */
struct rpc_lines {
	struct str rest;
	bool dropping; /* the line is too long, its end has not come */
};
/* LINE NULL: one that was too long; what follows of it is dropped. */
typedef void rpc_line_fn(void *data, const char *line, size_t len);
int rpc_lines_feed(struct rpc_lines *lines, const char *bytes, size_t len, rpc_line_fn *fn,
		   void *data); /* 0 or -ENOMEM */
/* The stream has ended: what is left of it is a line as well. */
void rpc_lines_end(struct rpc_lines *lines, rpc_line_fn *fn, void *data);
void rpc_lines_release(struct rpc_lines *lines);

/* One line as JSON; json_decref(). Texts may hold NUL: who takes one looks. */
int rpc_parse(const char *line, size_t len, json_t **ret, struct rpc_error *error);

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };
struct rpc_message {
	enum rpc_kind kind;
	char *id;           /* of a request: JSON */
	const char *method; /* borrowed, as params */
	json_t *params;     /* an object, or NULL */
};
/* On failure message->id is what could be read of it, or NULL. */
int rpc_message_read(json_t *value, struct rpc_message *message, struct rpc_error *error);
void rpc_message_release(struct rpc_message *message);
/* The id that VALUE is, as JSON: a new string; NULL: it is none. */
char *rpc_id(const json_t *value);
/* A text without NUL, or NULL. */
const char *rpc_text(const json_t *value);
/* A list of ours is never cut, so nobody can have a cursor: 0, or what rpc_fail() returns. */
int rpc_one_page(const struct rpc_message *message, struct rpc_error *error);

/* Whole messages without a newline. RESULT and PARAMS are JSON in one line; ID NULL: null. */
int rpc_put_result(struct str *out, const char *id, const struct str *result);
int rpc_put_error(struct str *out, const char *id, const struct rpc_error *error);
int rpc_put_notification(struct str *out, const char *method, const char *params);
