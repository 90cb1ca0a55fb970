/* SPDX-License-Identifier: MIT */
/*
 * tool-args - the command line that a call becomes.
 *
 * Values are words of their own or stand behind a `=`, operands behind a `--`: nothing
 * that a client sends is taken for an option, or seen by a shell.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "api/verbs.h"
#include "config/value.h"
#include "mcp/impl.h"
#include "mcp/sandbox-table.h"

int argv_begin(struct call *call, const char *verb)
{
	int r = 0;

	strv_release(&call->argv);
	r = strv_add(&call->argv, "pale");
	while (r == 0 && *verb) {
		size_t len = strcspn(verb, " ");

		r = strv_addn(&call->argv, verb, len);
		verb += len + (verb[len] == ' ');
	}
	call->insert_at = call->argv.len;
	return r;
}

/* Where it is done: in our session, or in its stage. */
static int name_place(const struct server *server, const struct call *call, struct strv *argv)
{
	const struct session *session = &server->session;
	const struct tool *tool = call->tool;

	if (!tool)
		return 0;
	if (tool->flags & TOOL_SESSION ||
	    (call->needs_session && call->has_result && tool - tools == TOOL_SANDBOX_INFO))
		return strv_addf(argv, "--session=%s", session->name);
	if (session->stage && tool_has_option(tool, "stage"))
		return strv_addf(argv, "--stage=%s", session->stage);
	/* Without a name it would be the user's own. */
	return tool->flags & TOOL_STAGE ? -ENODATA : 0;
}

int argv_finish(const struct server *server, const struct call *call, struct strv *ret)
{
	int r = 0;

	for (size_t i = 0; i < call->argv.len && r == 0; i++) {
		if (i == call->insert_at)
			r = name_place(server, call, ret);
		if (r == 0)
			r = strv_add(ret, call->argv.items[i]);
	}
	return r;
}

/* --- the arguments, one by one --- */

static int add_map(struct strv *argv, const char *option, json_t *value)
{
	const char *key;
	json_t *item;
	int r = 0;

	json_object_foreach(value, key, item) if (r == 0)
		r = strv_addf(argv, "--%s=%s=%s", option, key, json_string_value(item));
	return r;
}

static int add_texts(struct strv *argv, const char *option, json_t *value)
{
	size_t i;
	json_t *item;
	int r = 0;

	json_array_foreach(value, i, item) if (r == 0)
		r = option ? strv_addf(argv, "--%s=%s", option, json_string_value(item))
			   : strv_add(argv, json_string_value(item));
	return r;
}

static int add_option(struct strv *argv, const struct param *param, json_t *value)
{
	switch (param->type) {
	case PARAM_TEXT:
	case PARAM_TABLE:
		return strv_addf(argv, "--%s=%s", param->option, json_string_value(value));
	case PARAM_NUMBER:
		return strv_addf(argv, "--%s=%" PRId64, param->option,
				 (int64_t)json_integer_value(value));
	case PARAM_FLAG:
		return json_is_true(value) ? strv_addf(argv, "--%s", param->option) : 0;
	case PARAM_TEXTS:
		return add_texts(argv, param->option, value);
	case PARAM_MAP:
		return add_map(argv, param->option, value);
	}
	return 0;
}

static int add_options(struct call *call)
{
	int r = 0;

	for (size_t i = 0; i < call->tool->params_len && r == 0; i++) {
		const struct param *param = &call->tool->params[i];
		json_t *value = json_object_get(call->args, param->name);

		if (value && param->option)
			r = add_option(&call->argv, param, value);
	}
	return r;
}

static int add_operands(struct call *call)
{
	int r = 0;

	for (size_t i = 0; i < call->tool->params_len && r == 0; i++) {
		const struct param *param = &call->tool->params[i];
		json_t *value = json_object_get(call->args, param->name);

		if (!value || param->option || param->own)
			continue;
		r = json_is_array(value) ? add_texts(&call->argv, NULL, value)
					 : strv_add(&call->argv, json_string_value(value));
	}
	return r;
}

int argv_add_boundary(const struct server *server, struct call *call)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < server->setup.session->len; i++)
		r = strv_add(&call->argv, server->setup.session->items[i]);
	return r;
}

/* The verb, what every call of it gets, and the options. */
static int begin(const struct server *server, struct call *call, const char *verb)
{
	int r = argv_begin(call, verb);

	if (r == 0 && call->has_result)
		r = strv_addf(&call->argv, "--result-fd=%d", WORKER_RESULT_FD);
	else if (r == 0 && !(call->tool->flags & TOOL_NO_JSON))
		r = strv_add(&call->argv, "--json");
	if (r == 0)
		r = strv_addf(&call->argv, "--workspace=%s", server->setup.workspace);
	if (r == 0 && str_eq(verb, "status"))
		r = argv_add_boundary(server, call);
	return r < 0 ? r : add_options(call);
}

static int plain(const struct server *server, struct call *call)
{
	int r = begin(server, call, call->tool->verb);

	if (r == 0)
		r = strv_add(&call->argv, "--");
	return r < 0 ? r : add_operands(call);
}

/* --- tools with rules of their own --- */

static const char *text_arg(const struct call *call, const char *name)
{
	return json_string_value(json_object_get(call->args, name));
}

/* Exactly one of two. */
static int check_either(const struct call *call, const char *a, const char *b,
			struct rpc_error *error)
{
	json_t *list = json_object_get(call->args, b);

	if (!json_object_get(call->args, a) == !list)
		return rpc_fail(error, RPC_INVALID_PARAMS, "%s takes either %s or %s",
				call->tool->name, a, b);
	if (list && json_array_size(list) == 0)
		return rpc_fail(error, RPC_INVALID_PARAMS, "%s is empty", b);
	return 0;
}

static int check_name(const struct call *call, const char *param, struct rpc_error *error)
{
	const char *name = text_arg(call, param);

	return !name || name_is_valid(name)
		       ? 0
		       : rpc_fail(error, RPC_INVALID_PARAMS,
				  "%s: '%.80s' cannot be a command's name", param, name);
}

/* An operand in front of which no `--` may stand; it is a name, and so no option. */
static int prepare_run(struct server *server, struct call *call, struct rpc_error *error)
{
	int r = check_name(call, "name", error);

	if (r < 0)
		return r;
	call->has_result = call->is_command = true;
	call->needs_session = server->setup.staged;
	r = begin(server, call, call->tool->verb);
	return r < 0 ? r : add_operands(call);
}

static int check_env(json_t *env, struct rpc_error *error)
{
	const char *name;
	json_t *value;

	json_object_foreach(env, name, value) if (!*name || strchr(name, '=')) return rpc_fail(
		error, RPC_INVALID_PARAMS, "env: '%.80s' is no name of a variable", name);
	return 0;
}

/* What was registered is run at once. */
int tool_prepare_run_now(struct server *server, struct call *call)
{
	const char *name = text_arg(call, "name");
	int r;

	call->tool = &tools[TOOL_RUN];
	call->has_result = call->is_command = true;
	call->needs_session = server->setup.staged;
	r = argv_begin(call, call->tool->verb);
	if (r == 0)
		r = strv_addf(&call->argv, "--result-fd=%d", WORKER_RESULT_FD);
	if (r == 0)
		r = strv_addf(&call->argv, "--workspace=%s", server->setup.workspace);
	return r < 0 ? r : strv_add(&call->argv, name);
}

static int prepare_exec(struct server *server, struct call *call, struct rpc_error *error)
{
	const char *line = text_arg(call, "command");
	bool shell = json_is_true(json_object_get(call->args, "shell"));
	int r = check_either(call, "command", "argv", error);

	if (r == 0 && shell && !line)
		return rpc_fail(error, RPC_INVALID_PARAMS,
				"shell goes with command, not with argv");
	if (r == 0)
		r = check_env(json_object_get(call->args, "env"), error);
	if (r < 0)
		return r;
	call->has_result = call->is_command = true;
	r = begin(server, call, call->tool->verb);
	if (r == 0)
		r = strv_add(&call->argv, "--");
	if (r == 0 && !line)
		return add_texts(&call->argv, NULL, json_object_get(call->args, "argv"));
	if (r == 0 && !shell)
		r = strv_add(&call->argv, "/bin/sh");
	if (r == 0 && !shell)
		r = strv_add(&call->argv, "-c");
	return r < 0 ? r : strv_add(&call->argv, line);
}

/* The option that file tools take for a file that must not have changed. */
static int add_digest(const struct server *server, struct call *call)
{
	const char *digest = digest_of(server, text_arg(call, "path"));

	return digest ? strv_addf(&call->argv, "--digest=%s", digest) : 0;
}

static int file_begin(struct server *server, struct call *call, const char *verb)
{
	int r = argv_begin(call, verb);

	if (r == 0)
		r = strv_addf(&call->argv, "--result-fd=%d", WORKER_RESULT_FD);
	if (r == 0)
		r = strv_addf(&call->argv, "--workspace=%s", server->setup.workspace);
	return r;
}

static int prepare_file(struct server *server, struct call *call)
{
	int r;

	call->has_result = true;
	r = begin(server, call, call->tool->verb);
	if (r == 0 && call->tool - tools == TOOL_EDIT)
		r = add_digest(server, call);
	for (size_t i = 0; r == 0 && i < WORKER_TEXTS && call->tool - tools == TOOL_EDIT; i++) {
		static const char *const names[WORKER_TEXTS] = {"old", "new"};

		call->texts[i] = text_arg(call, names[i]);
		r = strv_addf(&call->argv, "--%s-fd=%zu", names[i], WORKER_TEXT_FD + i);
	}
	if (r == 0)
		r = strv_add(&call->argv, "--");
	return r < 0 ? r : add_operands(call);
}

int tool_prepare_write(struct server *server, struct call *call)
{
	bool known = digest_of(server, text_arg(call, "path")) != NULL;
	bool forced = json_is_true(json_object_get(call->args, "overwrite"));
	int r;

	call->has_result = true;
	/* Is there something that the client has not seen? */
	if (!known && !forced && call->step == 0) {
		r = file_begin(server, call, "file read");
		if (r == 0)
			r = strv_add(&call->argv, "--limit=1");
	} else {
		call->step = 1;
		call->input = text_arg(call, "content");
		r = file_begin(server, call, call->tool->verb);
		if (r == 0 && !forced)
			r = add_digest(server, call);
	}
	if (r == 0)
		r = strv_add(&call->argv, "--");
	return r < 0 ? r : add_operands(call);
}

static int prepare_diff(struct server *server, struct call *call)
{
	int r = argv_begin(call, call->tool->verb);

	if (r == 0)
		r = strv_addf(&call->argv, "--workspace=%s", server->setup.workspace);
	if (r == 0 && json_is_true(json_object_get(call->args, "stat")))
		r = strv_add(&call->argv, "--json");
	if (r == 0)
		r = strv_add(&call->argv, "--");
	return r < 0 ? r : add_operands(call);
}

/* Of what was asked for on our own command line only a command in the session can tell. */
static int ask_session(struct server *server, struct call *call)
{
	int r = argv_begin(call, "exec");

	call->has_result = call->needs_session = true;
	if (r == 0)
		r = strv_addf(&call->argv, "--result-fd=%d", WORKER_RESULT_FD);
	if (r == 0)
		r = strv_addf(&call->argv, "--workspace=%s", server->setup.workspace);
	if (r == 0)
		r = strv_add(&call->argv, "--");
	return r < 0 ? r : strv_add(&call->argv, "true");
}

static int prepare_info(struct server *server, struct call *call, struct rpc_error *error)
{
	const char *name = text_arg(call, "command");
	int r = check_name(call, "command", error);

	if (r == 0 && !name && server->setup.session->len > 0)
		return ask_session(server, call);
	if (r == 0)
		r = begin(server, call, name ? call->tool->verb : "status");
	return r < 0 || !name ? r : strv_add(&call->argv, name);
}

static int prepare_register(struct server *server, struct call *call, struct rpc_error *error)
{
	_cleanup_(str_release) struct str table = {0};
	const char *line = text_arg(call, "cmd");
	int r = check_either(call, "cmd", "argv", error);

	if (r == 0)
		r = check_name(call, "name", error);
	if (r == 0)
		r = sandbox_table(json_object_get(call->args, "sandbox"), text_arg(call, "timeout"),
				  server->setup.preset, &table, error);
	if (r == 0)
		r = begin(server, call, call->tool->verb);
	if (r == 0 && table.len > 0)
		r = strv_addf(&call->argv, "--sandbox=%s", table.data);
	if (r < 0)
		return r;
	if (!line) {
		r = strv_add(&call->argv, text_arg(call, "name"));
		if (r == 0)
			r = strv_add(&call->argv, "--");
		return r < 0 ? r
			     : add_texts(&call->argv, NULL, json_object_get(call->args, "argv"));
	}
	/* Two operands are a line; with a dash in front it would be an option. */
	if (*line == '-')
		return rpc_fail(error, RPC_INVALID_PARAMS, "cmd begins with a dash; use argv");
	r = strv_add(&call->argv, text_arg(call, "name"));
	return r < 0 ? r : strv_add(&call->argv, line);
}

/* Of others the user decides. */
static int prepare_undo(struct server *server, struct call *call)
{
	int r = plain(server, call);

	return r < 0 || server->done.len == 0
		       ? r
		       : strv_add(&call->argv, server->done.items[server->done.len - 1]);
}

static int prepare_allow(struct server *server, struct call *call)
{
	int r = begin(server, call, call->tool->verb);

	if (r == 0)
		r = strv_add(&call->argv, "--project");
	if (r == 0)
		r = strv_add(&call->argv, "--yes");
	if (r == 0)
		r = strv_add(&call->argv, "--");
	return r < 0 ? r : add_operands(call);
}

int tool_prepare(struct server *server, struct call *call, struct rpc_error *error)
{
	enum tool_id id = (enum tool_id)(call->tool - tools);

	call->needs_session = call->tool->flags & TOOL_SESSION ||
			      (call->tool->flags & TOOL_STAGE &&
			       server->session.state == SESSION_STARTING);
	if (id == TOOL_RUN)
		return prepare_run(server, call, error);
	if (id == TOOL_EXEC)
		return prepare_exec(server, call, error);
	if (id == TOOL_WRITE)
		return tool_prepare_write(server, call);
	if (call->tool->flags & TOOL_FILES)
		return prepare_file(server, call);
	if (id == TOOL_DIFF)
		return prepare_diff(server, call);
	if (id == TOOL_SANDBOX_INFO)
		return prepare_info(server, call, error);
	if (id == TOOL_REGISTER_COMMAND)
		return prepare_register(server, call, error);
	if (id == TOOL_UNDO)
		return prepare_undo(server, call);
	if (id == TOOL_ALLOW)
		return prepare_allow(server, call);
	return plain(server, call);
}

static int end_session(const struct server *server, struct call *call)
{
	int r = argv_begin(call, "session rm");

	if (r == 0)
		r = strv_addf(&call->argv, "--workspace=%s", server->setup.workspace);
	if (r == 0)
		r = strv_add(&call->argv, server->session.name);
	call->insert_at = SIZE_MAX;
	return r;
}

int tool_begin(struct server *server, struct call *call)
{
	/* What the client has seen of the file may be newer by now. */
	if (call->tool && call->tool - tools == TOOL_WRITE)
		return tool_prepare_write(server, call);
	if (call->tool && call->tool - tools == TOOL_EDIT)
		return prepare_file(server, call);
	if (!call_is_alone(call) || call->step > 0)
		return 0;
	if (call->tool - tools == TOOL_UNDO && server->done.len == 0)
		return -ENODATA;
	session_check(server);
	if (server->session.state == SESSION_READY)
		return end_session(server, call);
	call->step = 1;
	return call->tool - tools == TOOL_UNDO ? prepare_undo(server, call) : 0;
}
