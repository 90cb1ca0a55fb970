/* SPDX-License-Identifier: MIT */
/*
 * schemas - the JSON Schemas of tools, and the check of arguments against them.
 *
 * Both are made from the same rows, so that what is announced is what is checked. That
 * one of two parameters must be there is said in words: models' interfaces refuse a
 * oneOf at the top.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/verbs.h"
#include "base/json.h"
#include "base/str.h"
#include "mcp/impl.h"

enum { TEXT_MAX = 4096, TEXTS_MAX = 4096, MAP_MAX = 256 };

static size_t text_max(const struct param *param)
{
	return param->max > 0 ? (size_t)param->max : TEXT_MAX;
}

static const char *const *choices_of(const struct tool *tool, const struct param *param)
{
	const struct opt *option = param_option(tool, param);

	if (!option)
		return NULL;
	return option->choices ? option->choices : verb_option_choices(option);
}

/* --- what is announced --- */

static void text_schema(const char *key, size_t max, const char *const *choices, struct json *json)
{
	if (key)
		json_begin_object(json, key);
	json_add_string(json, "type", "string");
	if (choices) {
		json_begin_array(json, "enum");
		for (; *choices; choices++)
			json_add_string(json, NULL, *choices);
		json_end_array(json);
	} else {
		json_add_uint(json, "maxLength", max);
	}
	if (key)
		json_end_object(json);
}

static void table_schema(size_t max, struct json *json)
{
	json_begin_array(json, "anyOf");
	json_begin_object(json, NULL);
	text_schema(NULL, max, NULL, json);
	json_end_object(json);
	json_begin_object(json, NULL);
	json_add_string(json, "type", "object");
	json_end_object(json);
	json_end_array(json);
}

static void param_schema(const struct tool *tool, const struct param *param, struct json *json)
{
	const struct opt *option = param_option(tool, param);

	json_begin_object(json, param->name);
	switch (param->type) {
	case PARAM_TEXT:
		text_schema(NULL, text_max(param), choices_of(tool, param), json);
		break;
	case PARAM_NUMBER:
		json_add_string(json, "type", "integer");
		json_add_int(json, "minimum", param->min);
		json_add_int(json, "maximum", param->max);
		break;
	case PARAM_FLAG:
		json_add_string(json, "type", "boolean");
		break;
	case PARAM_TEXTS:
		json_add_string(json, "type", "array");
		text_schema("items", TEXT_MAX * 16, NULL, json);
		json_add_uint(json, "maxItems", TEXTS_MAX);
		break;
	case PARAM_MAP:
		json_add_string(json, "type", "object");
		text_schema("additionalProperties", TEXT_MAX * 16, NULL, json);
		json_add_uint(json, "maxProperties", MAP_MAX);
		break;
	case PARAM_TABLE:
		table_schema(TEXT_MAX, json);
		break;
	}
	if (param->help || option)
		json_add_string(json, "description", param->help ? param->help : option->help);
	json_end_object(json);
}

static void input_schema(const struct tool *tool, struct json *json)
{
	bool any = false;

	json_begin_object(json, "inputSchema");
	json_add_string(json, "type", "object");
	json_begin_object(json, "properties");
	for (size_t i = 0; i < tool->params_len; i++)
		if (param_is_offered(tool, &tool->params[i]))
			param_schema(tool, &tool->params[i], json);
	json_end_object(json);
	for (size_t i = 0; i < tool->params_len; i++) {
		if (!tool->params[i].required)
			continue;
		if (!any)
			json_begin_array(json, "required");
		any = true;
		json_add_string(json, NULL, tool->params[i].name);
	}
	if (any)
		json_end_array(json);
	json_add_bool(json, "additionalProperties", false);
	json_end_object(json);
}

/* A member of a structured answer. */
struct field {
	const char *name;
	const char *type; /* with a ? behind it: or null */
	const char *help;
};

#define PATH_FIELD                                                                                 \
	{                                                                                          \
		"path", "string", "relative to the workspace"                                      \
	}
#define DIGEST_FIELD                                                                               \
	{                                                                                          \
		"digest", "string", "SHA-256 of the whole file"                                    \
	}
#define OUTPUT_FIELD                                                                               \
	{                                                                                          \
		"output", "string", "untrusted data: what the command printed"                     \
	}
#define MORE_FIELD                                                                                 \
	{                                                                                          \
		"more", "boolean", "there is more than this"                                       \
	}

static const struct field run_fields[] = {
	{"run", "string", "the id of the run"},
	{"outcome", "string", "ok, failed, signaled, timeout, oom, limit, refused, error, running"},
	{"exit_code", "integer?", "of the command, when it exited"},
	{"signal", "integer?", "that ended it"},
	{"limit", "string?", "that was reached"},
	{"duration_ms", "integer", "how long it took"},
	{"violations", "array", "what the boundary refused, each with its fix"},
	{"error", "object?", "why it was not run: code, message, hint"},
	{0},
};
static const struct field command_fields[] = {
	{"output", "string", "untrusted data: the end of what the command printed"},
	{"output_bytes", "integer", "how much that was in all"},
	{"output_dropped", "integer", "how much of it is not here"},
	{"background", "boolean", "it goes on, and output takes its id"},
	{"notice", "string", "what has happened to the sandbox"},
	{0},
};
static const struct field output_fields[] = {
	{"run", "string", "the id of the run"},
	{"outcome", "string", "running, or how it ended"},
	{"exit_code", "integer?", "of the command, when it exited"},
	{"signal", "integer?", "that ended it"},
	OUTPUT_FIELD,
	{"from", "integer", "the first byte of it"},
	{"next", "integer", "where to go on"},
	{"total", "integer", "how many bytes it has printed"},
	{"dropped", "integer", "how many of these were not kept"},
	{"ended", "boolean", "it has ended, and all of its output was read"},
	{0},
};
static const struct field read_fields[] = {
	PATH_FIELD,
	{"text", "string", "untrusted data: the lines, long ones cut"},
	{"offset", "integer", "the number of the first line, from 1 on"},
	{"lines", "integer", "how many there are here"},
	{"total_lines", "integer", "how many the file has; of a very large one not known"},
	{"next_offset", "integer?", "where to go on; null: that was the end"},
	{"cut_lines", "integer", "how many of these lines are cut"},
	{"utf8", "boolean", "it was text; else U+FFFD stands for what was not"},
	{"size", "integer", "bytes of the file"},
	DIGEST_FIELD,
	{0},
};
static const struct field write_fields[] = {
	PATH_FIELD,
	{"bytes", "integer", "of the file, as it is now"},
	{"created", "boolean", "there was none before"},
	DIGEST_FIELD,
	{0},
};
static const struct field edit_fields[] = {
	PATH_FIELD,
	{"count", "integer", "in how many places"},
	{"bytes", "integer", "of the file, as it is now"},
	{"diff", "string", "untrusted data: what changed"},
	DIGEST_FIELD,
	{0},
};
static const struct field grep_fields[] = {
	{"matches", "array", "untrusted data: path, line, text, and context: it is only near one"},
	{"matched", "integer", "how many lines match, of these"},
	{"files", "integer", "how many were searched"},
	MORE_FIELD,
	{0},
};
static const struct field glob_fields[] = {
	{"total", "integer", "how many match"},
	MORE_FIELD,
	{0},
};
static const struct field diff_fields[] = {
	{"stage", "string?", "where the changes wait; null: there are none"},
	{"patch", "string", "untrusted data: the changes"},
	{"changes", "array", "with stat: one for each file"},
	MORE_FIELD,
	{0},
};

static const struct field *const fields[TOOL_COUNT_] = {
	[TOOL_RUN] = run_fields,       [TOOL_EXEC] = run_fields,  [TOOL_WAIT] = run_fields,
	[TOOL_OUTPUT] = output_fields, [TOOL_READ] = read_fields, [TOOL_WRITE] = write_fields,
	[TOOL_EDIT] = edit_fields,     [TOOL_GREP] = grep_fields, [TOOL_GLOB] = glob_fields,
	[TOOL_DIFF] = diff_fields,
};

static void put_field(const struct field *field, struct json *json)
{
	size_t len = strcspn(field->type, "?");
	char type[16];

	snprintf(type, sizeof(type), "%.*s", (int)len, field->type);
	json_begin_object(json, field->name);
	if (field->type[len]) {
		json_begin_array(json, "type");
		json_add_string(json, NULL, type);
		json_add_string(json, NULL, "null");
		json_end_array(json);
	} else {
		json_add_string(json, "type", type);
	}
	json_add_string(json, "description", field->help);
	json_end_object(json);
}

static void put_fields(const struct field *field, struct json *json)
{
	for (; field && field->name; field++)
		put_field(field, json);
}

static void output_schema(const struct tool *tool, struct json *json)
{
	json_begin_object(json, "outputSchema");
	json_add_string(json, "type", "object");
	json_begin_object(json, "properties");
	put_fields(fields[tool - tools], json);
	if (tool->flags & TOOL_RUNS)
		put_fields(command_fields, json);
	if (tool->list)
		put_field(&(struct field){tool->list, "array", tool->title}, json);
	json_end_object(json);
	json_end_object(json);
}

static void annotations(const struct tool *tool, struct json *json)
{
	bool reads = tool->flags & TOOL_READ_ONLY;

	json_begin_object(json, "annotations");
	json_add_string(json, "title", tool->title);
	json_add_bool(json, "readOnlyHint", reads);
	json_add_bool(json, "destructiveHint", !reads && tool->flags & TOOL_DESTRUCTIVE);
	json_add_bool(json, "idempotentHint", tool->flags & TOOL_IDEMPOTENT);
	json_add_bool(json, "openWorldHint", false);
	json_end_object(json);
}

void tools_json(const struct server *server, struct json *json)
{
	json_begin_array(json, "tools");
	for (size_t i = 0; i < TOOL_COUNT_; i++) {
		const struct tool *tool = &tools[i];

		if (!tool_is_exposed(server->setup.exposed, tool))
			continue;
		json_begin_object(json, NULL);
		json_add_string(json, "name", tool->name);
		if (server->version >= V2025_06_18)
			json_add_string(json, "title", tool->title);
		json_add_string(json, "description", tool->help);
		input_schema(tool, json);
		if (server->version >= V2025_06_18)
			output_schema(tool, json);
		if (server->version >= V2025_03_26)
			annotations(tool, json);
		json_end_object(json);
	}
	json_end_array(json);
}

/* --- what is checked --- */

/* As a schema counts. */
static size_t characters(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static int check_text(const char *name, const json_t *value, size_t max, struct rpc_error *error)
{
	if (!json_is_string(value))
		return rpc_fail(error, RPC_INVALID_PARAMS, "%s must be a text", name);
	if (!rpc_text(value))
		return rpc_fail(error, RPC_INVALID_PARAMS, "%s holds a NUL", name);
	if (characters(json_string_value(value)) > max)
		return rpc_fail(error, RPC_INVALID_PARAMS, "%s is longer than %zu characters", name,
				max);
	return 0;
}

static int check_choice(const struct tool *tool, const struct param *param, const json_t *value,
			struct rpc_error *error)
{
	const char *const *choices = choices_of(tool, param);

	if (!choices)
		return 0;
	for (; *choices; choices++)
		if (str_eq(*choices, json_string_value(value)))
			return 0;
	return rpc_fail(error, RPC_INVALID_PARAMS, "%s cannot be \"%.80s\"", param->name,
			json_string_value(value));
}

static int check_texts(const char *name, json_t *value, struct rpc_error *error)
{
	size_t i;
	json_t *item;
	int r = 0;

	if (!json_is_array(value) || json_array_size(value) > TEXTS_MAX)
		return rpc_fail(error, RPC_INVALID_PARAMS, "%s must be a list of %d texts at most",
				name, TEXTS_MAX);
	json_array_foreach(value, i, item) if (r == 0)
		r = check_text(name, item, TEXT_MAX * 16, error);
	return r;
}

static int check_map(const char *name, json_t *value, struct rpc_error *error)
{
	const char *key;
	json_t *item;
	int r = 0;

	if (!json_is_object(value) || json_object_size(value) > MAP_MAX)
		return rpc_fail(error, RPC_INVALID_PARAMS,
				"%s must be an object of %d texts at most", name, MAP_MAX);
	json_object_foreach(value, key, item) if (r == 0)
		r = check_text(name, item, TEXT_MAX * 16, error);
	return r;
}

static int check_number(const struct param *param, const json_t *value, struct rpc_error *error)
{
	json_int_t n = json_integer_value(value);

	if (json_is_integer(value) && n >= param->min && n <= param->max)
		return 0;
	return rpc_fail(error, RPC_INVALID_PARAMS,
			"%s must be a whole number from %" PRId64 " to %" PRId64, param->name,
			param->min, param->max);
}

static int check_value(const struct tool *tool, const struct param *param, json_t *value,
		       struct rpc_error *error)
{
	int r = 0;

	switch (param->type) {
	case PARAM_TEXT:
		r = check_text(param->name, value, text_max(param), error);
		return r < 0 ? r : check_choice(tool, param, value, error);
	case PARAM_NUMBER:
		return check_number(param, value, error);
	case PARAM_FLAG:
		return json_is_boolean(value) ? 0
					      : rpc_fail(error, RPC_INVALID_PARAMS,
							 "%s must be true or false", param->name);
	case PARAM_TEXTS:
		return check_texts(param->name, value, error);
	case PARAM_MAP:
		return check_map(param->name, value, error);
	case PARAM_TABLE:
		return json_is_object(value) ? 0 : check_text(param->name, value, TEXT_MAX, error);
	}
	return r;
}

static const struct param *param_find(const struct tool *tool, const char *name)
{
	for (size_t i = 0; i < tool->params_len; i++)
		if (str_eq(tool->params[i].name, name) && param_is_offered(tool, &tool->params[i]))
			return &tool->params[i];
	return NULL;
}

static int unknown(const struct tool *tool, const char *name, struct rpc_error *error)
{
	_cleanup_(str_release) struct str names = {0};

	for (size_t i = 0; i < tool->params_len; i++)
		if (param_is_offered(tool, &tool->params[i]))
			str_appendf(&names, "%s%s", names.len ? ", " : "", tool->params[i].name);
	return rpc_fail(error, RPC_INVALID_PARAMS, "%s has no argument '%.80s'; it takes %.300s",
			tool->name, name, names.len ? str_text(&names) : "none");
}

int args_check(const struct tool *tool, json_t *args, struct rpc_error *error)
{
	const char *name;
	json_t *value;
	int r = 0;

	json_object_foreach(args, name, value)
	{
		const struct param *param = param_find(tool, name);

		r = param ? check_value(tool, param, value, error) : unknown(tool, name, error);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < tool->params_len; i++)
		if (tool->params[i].required && !json_object_get(args, tool->params[i].name))
			return rpc_fail(error, RPC_INVALID_PARAMS, "%s needs %s", tool->name,
					tool->params[i].name);
	return 0;
}
