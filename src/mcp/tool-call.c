/* SPDX-License-Identifier: MIT */
/* tool-call - tools/call: from a name and arguments to a call that waits its turn. */
#include <errno.h>
#include <string.h>

#include "mcp/impl.h"

/* It exists, and is not for this client. */
static int refuse_tool(struct server *server, const struct tool *tool, struct str *result)
{
	_cleanup_(str_release) struct str text = {0};
	const char *stage = tool_has_option(tool, "stage") ? server->session.stage : NULL;

	refusal_remember(server, tool);
	if (str_appendf(&text,
			"%s is not for agents here, and this attempt was recorded. The user can do "
			"it by `pale %s%s%s`, or expose it by [mcp] expose in the user's own "
			"configuration.",
			tool->name, tool->verb, stage ? " --stage " : "", stage ? stage : "") < 0)
		return -ENOMEM;
	return result_put(server, result, text.data, NULL, true);
}

/* Without a stage there is nothing to show or to throw away. */
static int answer_unstaged(struct server *server, const struct tool *tool, struct str *result)
{
	bool direct = server->session.state == SESSION_READY;
	const char *text = direct ? "this session writes to the workspace directly: nothing is "
				    "staged"
				  : "nothing is staged yet";

	return result_put(server, result, text, "{\"stage\":null,\"changes\":[]}",
			  tool - tools != TOOL_DIFF);
}

/* Did the user bound this server by options? */
static bool has_boundary(const struct server *server)
{
	static const char *const others[] = {"--staged", "--direct",
					     "--engine=", "--allow-degraded=", "--no-observe"};

	for (size_t i = 0; i < server->setup.session->len; i++) {
		bool other = false;

		for (size_t k = 0; k < array_len(others); k++)
			other = other || str_starts(server->setup.session->items[i], others[k]);
		if (!other)
			return true;
	}
	return false;
}

static bool is_at_work(const struct server *server)
{
	for (const struct call *call = server->calls; call; call = call->next)
		if (call->needs_session && !call->cancelled)
			return true;
	return false;
}

static int find_order(const struct server *server, struct call *call)
{
	const char *path = json_string_value(json_object_get(call->args, "path"));
	bool in_shell = call->tool - tools == TOOL_EXEC &&
			json_is_true(json_object_get(call->args, "shell"));

	if (call->tool->flags & TOOL_FILES && path)
		call->order = digest_key(server, path);
	else if (in_shell)
		call->order = strdup("");
	else
		return 0;
	return call->order ? 0 : -ENOMEM;
}

static int begin(struct server *server, struct rpc_message *message, const struct tool *tool,
		 json_t *args, struct rpc_error *error)
{
	struct call *call = call_new(message, server->batch);
	int r;

	if (!call)
		return -ENOMEM;
	call->tool = tool;
	call->args = args ? json_incref(args) : json_object();
	call->finish = tool_finish;
	r = call->args ? args_check(tool, call->args, error) : -ENOMEM;
	if (r == 0)
		r = find_order(server, call);
	if (r == 0)
		r = tool_prepare(server, call, error);
	if (r == 0)
		r = call_queue(server, call, error);
	if (r == 0)
		return 1;
	message->id = take_ptr(call->reply.id);
	call_free(call);
	return r;
}

/* From 2025-11-25 on, what is wrong with arguments is told to the model, which can mend it. */
static int tell_model(const struct server *server, int r, struct str *result,
		      const struct rpc_error *error)
{
	if (r != RPC_INVALID_PARAMS || server->version < V2025_11_25)
		return r;
	return result_put(server, result, error->message, NULL, true);
}

int method_tools_call(struct server *server, struct rpc_message *message, struct str *result,
		      struct rpc_error *error)
{
	const char *name = rpc_text(json_object_get(message->params, "name"));
	json_t *args = json_object_get(message->params, "arguments");
	const struct tool *tool = name ? tool_find(name) : NULL;

	if (!name)
		return rpc_fail(error, RPC_INVALID_PARAMS, "name must be a text");
	if (!tool)
		return rpc_fail(error, RPC_INVALID_PARAMS, "no tool '%.100s'", name);
	if (args && !json_is_object(args))
		return rpc_fail(error, RPC_INVALID_PARAMS, "arguments must be an object");
	if (!tool_is_exposed(server->setup.exposed, tool))
		return refuse_tool(server, tool, result);
	if (tool->flags & TOOL_STAGE && !server->session.stage &&
	    server->session.state != SESSION_STARTING) {
		int r = args ? args_check(tool, args, error) : 0;

		return r < 0 ? tell_model(server, r, result, error)
			     : answer_unstaged(server, tool, result);
	}
	if (tool - tools == TOOL_RUN && has_boundary(server))
		return result_put(server, result,
				  "this server has a boundary of its own, by its command line, and "
				  "registered commands have theirs: use exec",
				  NULL, true);
	if (tool->flags & TOOL_ALONE && is_at_work(server))
		return result_put(server, result,
				  "other calls are at work in the sandbox: wait for them first",
				  NULL, true);
	return tell_model(server, begin(server, message, tool, args, error), result, error);
}
