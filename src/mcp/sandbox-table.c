/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox-table.h"

#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "config/keys.h"
#include "config/toml.h"
#include "config/value.h"
#include "mcp/rpc.h"

static int put_text(struct str *out, const char *name, const json_t *value, struct rpc_error *error)
{
	const char *text = rpc_text(value);

	if (!text)
		return rpc_fail(error, RPC_INVALID_PARAMS, "sandbox: %s holds a NUL", name);
	return toml_quote(out, text, strlen(text));
}

static int put_scalar(struct str *out, const char *name, const json_t *value,
		      struct rpc_error *error)
{
	if (json_is_string(value))
		return put_text(out, name, value, error);
	if (json_is_boolean(value))
		return str_append(out, json_is_true(value) ? "true" : "false");
	if (json_is_integer(value))
		return str_appendf(out, "%" PRId64, (int64_t)json_integer_value(value));
	return rpc_fail(error, RPC_INVALID_PARAMS,
			"sandbox: %s must be a text, a number, true, false, or a list of texts or "
			"numbers",
			name);
}

static int put_value(struct str *out, const char *name, json_t *value, struct rpc_error *error)
{
	size_t i;
	json_t *item;
	int r;

	if (!json_is_array(value))
		return put_scalar(out, name, value, error);
	r = str_append_char(out, '[');
	json_array_foreach(value, i, item)
	{
		if (r == 0 && i > 0)
			r = str_append(out, ", ");
		if (r == 0)
			r = put_scalar(out, name, item, error);
	}
	return r < 0 ? r : str_append_char(out, ']');
}

static int put_member(struct str *out, const char *name, json_t *value, struct rpc_error *error)
{
	int r;

	if (!str_eq(name, "base") && dim_by_name(name) < 0)
		return rpc_fail(error, RPC_INVALID_PARAMS, "sandbox has no key '%.80s'", name);
	r = str_appendf(out, "%s%s = ", out->len > 1 ? ", " : " ", name);
	return r < 0 ? r : put_value(out, name, value, error);
}

static int put_word(struct str *out, const char *name, const char *word, struct rpc_error *error)
{
	json_t *value = json_string(word);
	int r = value ? put_member(out, name, value, error)
		      : rpc_fail(error, RPC_INVALID_PARAMS, "%s is no text", name);

	json_decref(value);
	return r;
}

int sandbox_table(json_t *sandbox, const char *timeout, const char *preset, struct str *out,
		  struct rpc_error *error)
{
	const char *name;
	json_t *value;
	int r;

	if (json_is_string(sandbox) && !name_is_valid(json_string_value(sandbox)))
		return rpc_fail(error, RPC_INVALID_PARAMS, "sandbox: '%.80s' is no preset's name",
				json_string_value(sandbox));
	if (!timeout && json_is_string(sandbox))
		return str_append(out, json_string_value(sandbox));
	if (!timeout && !sandbox)
		return 0;
	if (timeout && json_is_object(sandbox) && json_object_get(sandbox, "timeout"))
		return rpc_fail(error, RPC_INVALID_PARAMS, "timeout is given twice");
	r = str_append_char(out, '{');
	if (r == 0 && json_is_string(sandbox))
		r = put_member(out, "base", sandbox, error);
	else if (r == 0 && !sandbox)
		r = put_word(out, "base", preset, error);
	json_object_foreach(sandbox, name, value) if (r == 0)
		r = put_member(out, name, value, error);
	if (r == 0 && timeout)
		r = put_word(out, "timeout", timeout, error);
	return r < 0 ? r : str_append(out, " }");
}
