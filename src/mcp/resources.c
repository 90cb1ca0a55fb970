/* SPDX-License-Identifier: MIT */
/* resources - what a client can look at without a tool: verbs' answers, the events. */
#include <errno.h>
#include <string.h>

#include "api/pale-impl.h"
#include "base/json.h"
#include "mcp/impl.h"

enum { STATUS, EVENTS, COMMANDS, STAGE_DIFF };

static const struct resource {
	const char *uri, *name, *title, *help, *type, *verb;
	enum tool_id like; /* shown to whom that tool is */
} resources[RESOURCE_COUNT] = {
	[STATUS] = {"pale://status", "status", "State of the sandbox",
		    "how commands are confined here, and what happened so far", "application/json",
		    "status", TOOL_SANDBOX_STATUS},
	[EVENTS] = {"pale://events", "events", "Events",
		    "the newest events of this workspace, and those of this connection",
		    "application/json", "events list", TOOL_SANDBOX_STATUS},
	[COMMANDS] = {"pale://commands", "commands", "Registered commands",
		      "the commands that the tool run takes", "application/json", "commands list",
		      TOOL_COMMANDS},
	[STAGE_DIFF] = {"pale://stage/diff", "stage-diff", "Staged changes",
			"what this session has changed and waits for review, as a patch",
			"text/x-diff", "diff", TOOL_DIFF},
};

int method_resources_list(struct server *server, struct rpc_message *message, struct str *result,
			  struct rpc_error *error)
{
	struct json json = {.out = result};

	if (rpc_one_page(message, error) != 0)
		return RPC_INVALID_PARAMS;
	json_begin_object(&json, NULL);
	json_begin_array(&json, "resources");
	for (size_t i = 0; i < RESOURCE_COUNT; i++) {
		if (!tool_is_exposed(server->setup.exposed, &tools[resources[i].like]))
			continue;
		json_begin_object(&json, NULL);
		json_add_string(&json, "uri", resources[i].uri);
		json_add_string(&json, "name", resources[i].name);
		if (server->version >= V2025_06_18)
			json_add_string(&json, "title", resources[i].title);
		json_add_string(&json, "description", resources[i].help);
		json_add_string(&json, "mimeType", resources[i].type);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	return json_finish(&json);
}

int method_templates_list(struct server *server, struct rpc_message *message, struct str *result,
			  struct rpc_error *error)
{
	(void)server;
	(void)message;
	(void)error;
	return str_append(result, "{\"resourceTemplates\":[]}");
}

static int find(const struct server *server, const struct rpc_message *message,
		struct rpc_error *error)
{
	const char *uri = rpc_text(json_object_get(message->params, "uri"));

	if (!uri)
		return rpc_fail(error, RPC_INVALID_PARAMS, "uri must be a text");
	for (int i = 0; i < RESOURCE_COUNT; i++)
		if (str_eq(resources[i].uri, uri) &&
		    tool_is_exposed(server->setup.exposed, &tools[resources[i].like]))
			return i;
	return rpc_fail(error, RPC_NO_RESOURCE, "no resource '%.200s'", uri);
}

static int subscribe(struct server *server, struct rpc_message *message, bool on,
		     struct str *result, struct rpc_error *error)
{
	int which = find(server, message, error);

	if (which < 0)
		return which;
	server->subscribed[which] = on;
	return str_append(result, "{}");
}

int method_subscribe(struct server *server, struct rpc_message *message, struct str *result,
		     struct rpc_error *error)
{
	return subscribe(server, message, true, result, error);
}

int method_unsubscribe(struct server *server, struct rpc_message *message, struct str *result,
		       struct rpc_error *error)
{
	return subscribe(server, message, false, result, error);
}

void resource_updated(struct server *server, int resource)
{
	_cleanup_(str_release) struct str params = {0};

	if (!server->subscribed[resource])
		return;
	if (str_appendf(&params, "{\"uri\":\"%s\"}", resources[resource].uri) < 0)
		server->error = -ENOMEM;
	else
		server_notify(server, "notifications/resources/updated", params.data);
}

void resources_after_run(struct server *server)
{
	resource_updated(server, STATUS);
	resource_updated(server, EVENTS);
	if (server->session.stage)
		resource_updated(server, STAGE_DIFF);
}

/* --- reading --- */

static int put_contents(int which, const char *text, struct str *out)
{
	struct json json = {.out = out};

	json_begin_object(&json, NULL);
	json_begin_array(&json, "contents");
	json_begin_object(&json, NULL);
	json_add_string(&json, "uri", resources[which].uri);
	json_add_string(&json, "mimeType", resources[which].type);
	json_add_string(&json, "text", text);
	json_end_object(&json);
	json_end_array(&json);
	json_end_object(&json);
	return json_finish(&json);
}

static void ring_json(struct server *server, struct json *json)
{
	static struct pale_event events[PALE_EVENTS_MAX];
	size_t len = pale_events(server->ring, 0, events, PALE_EVENTS_MAX);

	json_begin_array(json, "connection");
	for (size_t i = 0; i < len; i++) {
		const struct pale_event *event = &events[i];

		json_begin_object(json, NULL);
		json_add_uint(json, "number", event->number);
		json_add_uint(json, "time_ms", event->time_ms);
		json_add_string(json, "kind", pale_event_name((enum pale_event_kind)event->kind));
		json_add_uint(json, "run", event->run);
		json_add_string(json, "outcome",
				pale_outcome_name((enum pale_outcome)event->outcome));
		json_add_string(json, "dimension",
				pale_dimension_name((enum pale_dimension)event->dimension));
		json_add_uint(json, "count", event->count);
		json_end_object(json);
	}
	json_end_array(json);
}

/* What the verb printed; of events, together with the ring. */
static int put_text(struct server *server, const struct call *call, struct str *out)
{
	struct json json = {.out = out};
	const struct str *data = &call->worker.data;

	if (call->detail != EVENTS)
		return text_append_clean(out, str_text(data), data->len);
	json_begin_object(&json, NULL);
	ring_json(server, &json);
	json_add_raw_bytes(&json, "workspace", data->len ? data->data : "[]",
			   data->len ? data->len : 2);
	json_end_object(&json);
	return json_finish(&json);
}

static bool resource_finish(struct server *server, struct call *call)
{
	_cleanup_(str_release) struct str text = {0}, result = {0};
	struct rpc_error error;
	int r;

	/* That nothing would run is what the status tells. */
	if (worker_exit(&call->worker) != 0 &&
	    (call->detail != STATUS || call->worker.data.len == 0)) {
		if (worker_complaint(&call->worker, &text) < 0)
			server->error = -ENOMEM;
		rpc_fail(&error, RPC_INTERNAL_ERROR, "%.400s", str_text(&text));
		server_refuse(server, &call->reply, &error);
		return false;
	}
	r = put_text(server, call, &text);
	if (r == 0)
		r = put_contents(call->detail, str_text(&text), &result);
	if (r < 0)
		server->error = r;
	else
		server_answer(server, &call->reply, &result);
	return false;
}

static int make_argv(const struct server *server, struct call *call)
{
	int r = argv_begin(call, resources[call->detail].verb);

	if (r == 0)
		r = strv_addf(&call->argv, "--workspace=%s", server->setup.workspace);
	if (r == 0 && call->detail == STATUS)
		r = argv_add_boundary(server, call);
	if (r == 0 && call->detail == STAGE_DIFF)
		return strv_addf(&call->argv, "--stage=%s", server->session.stage);
	return r < 0 ? r : strv_add(&call->argv, "--json");
}

int method_resources_read(struct server *server, struct rpc_message *message, struct str *result,
			  struct rpc_error *error)
{
	int which = find(server, message, error), r;
	struct call *call;

	if (which < 0)
		return which;
	if (which == STAGE_DIFF && !server->session.stage)
		return put_contents(which, "", result);
	call = call_new(message, server->batch);
	if (!call)
		return -ENOMEM;
	call->finish = resource_finish;
	call->detail = which;
	r = make_argv(server, call);
	if (r == 0)
		r = call_queue(server, call, error);
	if (r == 0)
		return 1;
	message->id = take_ptr(call->reply.id);
	call_free(call);
	return r;
}
