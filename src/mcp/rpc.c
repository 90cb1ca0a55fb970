/* SPDX-License-Identifier: MIT */
#include "mcp/rpc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

int rpc_fail(struct rpc_error *error, int code, const char *fmt, ...)
{
	va_list ap;

	error->code = code;
	va_start(ap, fmt);
	vsnprintf(error->message, sizeof(error->message), fmt, ap);
	va_end(ap);
	return code;
}

/* --- lines --- */

static bool is_blank(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
			return false;
	return true;
}

static void give(const char *line, size_t len, rpc_line_fn *fn, void *data)
{
	if (!is_blank(line, len))
		fn(data, line, len);
}

/* The buffer of a long line is given back: most are short. */
static void forget(struct str *rest)
{
	if (rest->cap > 65536)
		str_release(rest);
	else
		str_truncate(rest, 0);
}

/* PIECE is part of a line, its last one when ENDS. */
static int take_piece(struct rpc_lines *lines, const char *piece, size_t len, bool ends,
		      rpc_line_fn *fn, void *data)
{
	int r;

	if (lines->dropping) {
		lines->dropping = !ends;
		return 0;
	}
	if (lines->rest.len + len > RPC_LINE_MAX) {
		str_release(&lines->rest);
		lines->dropping = !ends;
		fn(data, NULL, 0);
		return 0;
	}
	if (ends && lines->rest.len == 0) {
		give(piece, len, fn, data);
		return 0;
	}
	r = str_append_bytes(&lines->rest, piece, len);
	if (r < 0 || !ends)
		return r;
	give(lines->rest.data, lines->rest.len, fn, data);
	forget(&lines->rest);
	return 0;
}

int rpc_lines_feed(struct rpc_lines *lines, const char *bytes, size_t len, rpc_line_fn *fn,
		   void *data)
{
	while (len > 0) {
		const char *newline = memchr(bytes, '\n', len);
		size_t piece = newline ? (size_t)(newline - bytes) : len;
		int r = take_piece(lines, bytes, piece, newline != NULL, fn, data);

		if (r < 0)
			return r;
		piece += newline != NULL;
		bytes += piece;
		len -= piece;
	}
	return 0;
}

void rpc_lines_end(struct rpc_lines *lines, rpc_line_fn *fn, void *data)
{
	if (!lines->dropping && lines->rest.len > 0)
		give(lines->rest.data, lines->rest.len, fn, data);
	rpc_lines_release(lines);
}

void rpc_lines_release(struct rpc_lines *lines)
{
	str_release(&lines->rest);
	lines->dropping = false;
}

/* --- what comes in --- */

/* Nothing but counting: what is no JSON the parser will find. */
static int check_bounds(const char *line, size_t len, struct rpc_error *error)
{
	size_t depth = 0, values = 0;
	bool in_text = false;

	for (size_t i = 0; i < len; i++) {
		char c = line[i];

		if (in_text) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_text = false;
			continue;
		}
		in_text = c == '"';
		values += c == ',' || c == '[' || c == '{';
		depth += c == '[' || c == '{';
		depth -= depth > 0 && (c == ']' || c == '}');
		if (depth > RPC_DEPTH_MAX)
			return rpc_fail(error, RPC_INVALID_REQUEST,
					"it nests deeper than %d levels", RPC_DEPTH_MAX);
		if (values > RPC_VALUES_MAX)
			return rpc_fail(error, RPC_INVALID_REQUEST, "it has more than %d values",
					RPC_VALUES_MAX);
	}
	return 0;
}

int rpc_parse(const char *line, size_t len, json_t **ret, struct rpc_error *error)
{
	json_error_t reason;
	json_t *value;
	int r = check_bounds(line, len, error);

	if (r < 0)
		return r;
	value = json_loadb(line, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL,
			   &reason);
	if (!value)
		return rpc_fail(error, RPC_PARSE_ERROR, "no JSON: %s, at byte %d", reason.text,
				reason.position);
	*ret = value;
	return 0;
}

const char *rpc_text(const json_t *value)
{
	const char *text = json_string_value(value);

	return text && strlen(text) == json_string_length(value) ? text : NULL;
}

char *rpc_id(const json_t *value)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out};
	const char *text = rpc_text(value);

	if (json_is_integer(value))
		json_add_int(&json, NULL, json_integer_value(value));
	else if (text && strlen(text) <= RPC_ID_MAX)
		json_add_string(&json, NULL, text);
	else
		return NULL;
	return json_finish(&json) < 0 ? NULL : take_ptr(out.data);
}

int rpc_message_read(json_t *value, struct rpc_message *message, struct rpc_error *error)
{
	json_t *id, *method;
	bool answers;

	*message = (struct rpc_message){0};
	if (!json_is_object(value))
		return rpc_fail(error, RPC_INVALID_REQUEST, "a message is an object");
	id = json_object_get(value, "id");
	method = json_object_get(value, "method");
	answers = json_object_get(value, "result") || json_object_get(value, "error");
	message->id = id ? rpc_id(id) : NULL;
	message->method = rpc_text(method);
	message->params = json_object_get(value, "params");
	message->kind = id ? RPC_REQUEST : RPC_NOTIFICATION;
	if (!str_eq(rpc_text(json_object_get(value, "jsonrpc")), "2.0"))
		return rpc_fail(error, RPC_INVALID_REQUEST, "jsonrpc must be \"2.0\"");
	if (answers && !method) {
		message->kind = RPC_RESPONSE;
		return 0;
	}
	if (id && !message->id)
		return rpc_fail(error, RPC_INVALID_REQUEST,
				"an id is a whole number, or a text of at most %d bytes",
				RPC_ID_MAX);
	if (!message->method || answers)
		return rpc_fail(error, RPC_INVALID_REQUEST, "a request has a method, a text%s",
				answers ? ", and neither result nor error" : "");
	if (message->params && !json_is_object(message->params))
		return rpc_fail(error, RPC_INVALID_PARAMS, "params must be an object");
	return 0;
}

void rpc_message_release(struct rpc_message *message)
{
	free(message->id);
	*message = (struct rpc_message){0};
}

/* --- what goes out --- */

static void begin(struct json *json)
{
	json_begin_object(json, NULL);
	json_add_string(json, "jsonrpc", "2.0");
}

static int end(struct json *json)
{
	json_end_object(json);
	return json_finish(json);
}

int rpc_put_result(struct str *out, const char *id, const struct str *result)
{
	struct json json = {.out = out};

	begin(&json);
	json_add_raw(&json, "id", id);
	json_add_raw_bytes(&json, "result", str_text(result), result->len);
	return end(&json);
}

int rpc_put_error(struct str *out, const char *id, const struct rpc_error *error)
{
	struct json json = {.out = out};

	begin(&json);
	json_add_raw(&json, "id", id);
	json_begin_object(&json, "error");
	json_add_int(&json, "code", error->code);
	json_add_string(&json, "message", error->message);
	json_end_object(&json);
	return end(&json);
}

int rpc_put_notification(struct str *out, const char *method, const char *params)
{
	struct json json = {.out = out};

	begin(&json);
	json_add_string(&json, "method", method);
	if (params)
		json_add_raw(&json, "params", params);
	return end(&json);
}

int rpc_one_page(const struct rpc_message *message, struct rpc_error *error)
{
	if (!json_object_get(message->params, "cursor"))
		return 0;
	return rpc_fail(error, RPC_INVALID_PARAMS,
			"this cursor is none of ours: the list is one page");
}
