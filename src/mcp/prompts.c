/* SPDX-License-Identifier: MIT */
/* prompts - `sandbox`: the posture, for clients that have slash commands. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "config/value.h"
#include "mcp/impl.h"
#include "mcp/views.h"

int method_prompts_list(struct server *server, struct rpc_message *message, struct str *result,
			struct rpc_error *error)
{
	struct json json = {.out = result};

	if (rpc_one_page(message, error) != 0)
		return RPC_INVALID_PARAMS;
	json_begin_object(&json, NULL);
	json_begin_array(&json, "prompts");
	json_begin_object(&json, NULL);
	json_add_string(&json, "name", "sandbox");
	if (server->version >= V2025_06_18)
		json_add_string(&json, "title", "Sandbox");
	json_add_string(&json, "description", "show how commands are confined here");
	json_begin_array(&json, "arguments");
	json_begin_object(&json, NULL);
	json_add_string(&json, "name", "command");
	json_add_string(&json, "description", "a registered command, to show its boundary");
	json_add_bool(&json, "required", false);
	json_end_object(&json);
	json_end_array(&json);
	json_end_object(&json);
	json_end_array(&json);
	json_end_object(&json);
	return json_finish(&json);
}

static int put_prompt(const char *posture, struct str *out)
{
	_cleanup_(str_release) struct str text = {0};
	struct json json = {.out = out};

	/* This is the user's voice, and names in the posture are the project's. */
	if (str_append(&text,
		       "This is how commands are confined here, as `pale` says. Explain it to me "
		       "in a few words: what they may read, write and reach, and what is not "
		       "enforced.\n\n") < 0 ||
	    view_marked("posture, with names of the project", posture, &text) < 0)
		return -ENOMEM;
	json_begin_object(&json, NULL);
	json_add_string(&json, "description", "the posture of the sandbox");
	json_begin_array(&json, "messages");
	json_begin_object(&json, NULL);
	json_add_string(&json, "role", "user");
	json_begin_object(&json, "content");
	json_add_string(&json, "type", "text");
	json_add_string(&json, "text", text.data);
	json_end_object(&json);
	json_end_object(&json);
	json_end_array(&json);
	json_end_object(&json);
	return json_finish(&json);
}

static bool prompt_finish(struct server *server, struct call *call)
{
	_cleanup_(str_release) struct str text = {0}, result = {0};
	const struct str *data = &call->worker.data;
	struct rpc_error error;
	/* That nothing would run is told, too. */
	bool failed = worker_exit(&call->worker) != 0 && data->len == 0;
	int r = failed ? worker_complaint(&call->worker, &text)
		       : text_append_clean(&text, str_text(data), data->len);

	if (r == 0 && failed) {
		rpc_fail(&error, RPC_INVALID_PARAMS, "%.400s", str_text(&text));
		server_refuse(server, &call->reply, &error);
		return false;
	}
	if (r == 0)
		r = put_prompt(str_text(&text), &result);
	if (r < 0)
		server->error = r;
	else
		server_answer(server, &call->reply, &result);
	return false;
}

/* COMMAND NULL: of ad-hoc commands. */
static int make_argv(const struct server *server, struct call *call, const char *command)
{
	int r = argv_begin(call, command ? "sandbox inspect" : "status");

	if (r == 0)
		r = strv_addf(&call->argv, "--workspace=%s", server->setup.workspace);
	if (r == 0 && !command)
		r = argv_add_boundary(server, call);
	return r < 0 || !command ? r : strv_add(&call->argv, command);
}

int method_prompts_get(struct server *server, struct rpc_message *message, struct str *result,
		       struct rpc_error *error)
{
	json_t *args = json_object_get(message->params, "arguments");
	json_t *command = json_object_get(args, "command");
	struct call *call;
	int r;

	(void)result;
	if (!tool_is_exposed(server->setup.exposed, &tools[TOOL_SANDBOX_INFO]))
		return rpc_fail(error, RPC_INVALID_PARAMS, "there is no prompt here");
	if (!str_eq(rpc_text(json_object_get(message->params, "name")), "sandbox"))
		return rpc_fail(error, RPC_INVALID_PARAMS, "there is one prompt: sandbox");
	if ((args && !json_is_object(args)) || json_object_size(args) > (command ? 1 : 0) ||
	    (command && (!rpc_text(command) || !name_is_valid(rpc_text(command)))))
		return rpc_fail(error, RPC_INVALID_PARAMS,
				"sandbox takes one argument, command: the name of one");
	call = call_new(message, server->batch);
	if (!call)
		return -ENOMEM;
	call->finish = prompt_finish;
	r = make_argv(server, call, rpc_text(command));
	if (r == 0)
		r = call_queue(server, call, error);
	if (r == 0)
		return 1;
	message->id = take_ptr(call->reply.id);
	call_free(call);
	return r;
}
