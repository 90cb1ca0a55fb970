/* SPDX-License-Identifier: MIT */
/*
 * results - what a worker brought, as the answer to a call.
 *
 * The same twice: structured for programs, where the protocol has that, and as text for
 * models. What a command printed stands between two lines that it cannot know, marked as
 * data: it is not the one who speaks.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "api/pale-impl.h"
#include "base/clock.h"
#include "base/json.h"
#include "mcp/impl.h"
#include "mcp/views.h"

enum { PATCH_MAX = 128 << 10 };

int result_put(const struct server *server, struct str *out, const char *text,
	       const char *structured, bool is_error)
{
	struct json json = {.out = out};

	json_begin_object(&json, NULL);
	json_begin_array(&json, "content");
	json_begin_object(&json, NULL);
	json_add_string(&json, "type", "text");
	json_add_string(&json, "text", text);
	json_end_object(&json);
	json_end_array(&json);
	if (structured && server->version >= V2025_06_18)
		json_add_raw(&json, "structuredContent", structured);
	json_add_bool(&json, "isError", is_error);
	json_end_object(&json);
	return json_finish(&json);
}

/* Some verbs tell what failed as JSON. */
static int told_complaint(const struct worker *worker, struct str *out)
{
	struct rpc_error unread;
	json_t *data = NULL, *error;
	const char *message, *hint;
	int r = 0;

	if (rpc_parse(str_text(&worker->data), worker->data.len, &data, &unread) < 0)
		return 0;
	error = json_object_get(data, "error");
	message = json_string_value(json_object_get(error, "message"));
	hint = json_string_value(json_object_get(error, "hint"));
	if (message)
		r = view_message("", error, out);
	if (r == 0 && message && hint)
		r = view_line("\n  hint: ", hint, out);
	json_decref(data);
	return r < 0 ? r : message != NULL;
}

int worker_complaint(const struct worker *worker, struct str *out)
{
	_cleanup_(str_release) struct str text = {0};
	const char *at;
	int r = told_complaint(worker, out);

	if (r != 0)
		return r < 0 ? r : 0;
	r = tail_text(&worker->output, &text);
	at = str_text(&text);
	if (str_starts(at, "pale: "))
		at += strlen("pale: ");
	if (r == 0 && !*at)
		return str_appendf(out, "it ended with status %d and said nothing",
				   worker_exit(worker));
	return r < 0 ? r : str_append(out, at);
}

static bool finish(struct server *server, struct call *call, int r, const struct str *result)
{
	if (r < 0)
		server->error = r;
	else
		server_answer(server, &call->reply, result);
	return false;
}

/* --- the result of a run --- */

/* Without what says how it was confined: sandbox_info has that. */
static int put_structured(struct str *out, const struct call *call, json_t *answer,
			  const struct str *output, const char *notice)
{
	struct json json = {.out = out};
	const char *key;
	json_t *value;

	json_begin_object(&json, NULL);
	json_object_foreach(answer, key, value)
	{
		_cleanup_(freep) char *dump = NULL;

		if (json_is_null(value) || str_eq(key, "spec") || str_eq(key, "enforced") ||
		    str_eq(key, "history"))
			continue;
		dump = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
		if (!dump)
			return -ENOMEM;
		json_add_raw(&json, key, dump);
	}
	if (!json_object_get(answer, "outcome"))
		json_add_string(&json, "outcome", answer ? "running" : "error");
	json_add_string(&json, "output", str_text(output));
	json_add_uint(&json, "output_bytes", call->worker.output.total);
	json_add_uint(&json, "output_dropped", tail_dropped(&call->worker.output));
	if (notice)
		json_add_string(&json, "notice", notice);
	json_end_object(&json);
	return json_finish(&json);
}

/* For the ring: that it began, what it was refused, how it ended. */
static void record(struct server *server, const struct call *call, json_t *answer)
{
	uint64_t run = context_begin(server->ring, server->workspace_hash);
	struct pale_event exit = {.run = run,
				  .workspace = server->workspace_hash,
				  .duration_ms = PALE_UNKNOWN,
				  .outcome = PALE_ERROR};
	const char *outcome = json_string_value(json_object_get(answer, "outcome"));
	json_t *duration = json_object_get(answer, "duration_ms");

	for (int i = PALE_OK; i <= PALE_RUNNING; i++)
		if (str_eq(outcome, pale_outcome_name((enum pale_outcome)i)))
			exit.outcome = (uint32_t)i;
	if (json_is_integer(duration))
		exit.duration_ms = (uint64_t)json_integer_value(duration);
	context_end(server->ring, exit, str_text(&call->worker.answer));
}

/* What the verb would have a user do is not what a client can do. */
static int add_hint(const struct call *call, json_t *answer, struct str *out)
{
	json_t *error = json_object_get(answer, "error");

	if (call->tool - tools != TOOL_RUN ||
	    !str_eq(json_string_value(json_object_get(error, "code")), "usage"))
		return 0;
	return str_append(out, "hint: commands lists what run takes; exec runs any program\n");
}

/* Was it not run, because of the session? */
static bool is_stale(struct server *server, struct call *call, json_t *answer)
{
	json_t *error = json_object_get(answer, "error");

	return json_is_object(error) && session_replace(server, call, error);
}

/* What is to be said once; or why it was killed, which a model would take for something else. */
static const char *take_notice(struct server *server, const struct call *call, json_t *answer,
			       char **once)
{
	if (json_integer_value(json_object_get(answer, "signal")) == SIGKILL &&
	    session_took_along(server, call))
		return "the sandbox in which it ran was ended meanwhile, and it with that";
	*once = take_ptr(server->session.notice);
	return *once;
}

static bool finish_run(struct server *server, struct call *call)
{
	_cleanup_(str_release) struct str output = {0}, text = {0}, structured = {0}, result = {0};
	_cleanup_(freep) char *once = NULL;
	const char *notice;
	struct rpc_error error;
	json_t *answer = NULL;
	bool was_run, is_running;
	int r;

	if (rpc_parse(str_text(&call->worker.answer), call->worker.answer.len, &answer, &error) < 0)
		answer = NULL;
	if (is_stale(server, call, answer)) {
		json_decref(answer);
		return true;
	}
	record(server, call, answer);
	notice = take_notice(server, call, answer, &once);
	was_run = answer && !json_object_get(answer, "error");
	is_running = json_is_true(json_object_get(answer, "background"));
	r = tail_text(&call->worker.output, &output);
	if (r == 0 && answer)
		r = view_run(answer, &text);
	else if (r == 0)
		r = str_append(&text, "pale ended before it could say how the command did\n");
	if (r == 0)
		r = add_hint(call, answer, &text);
	if (r == 0 && notice)
		r = str_appendf(&text, "note: %s\n", notice);
	if (r == 0 && ((was_run && !is_running) || output.len > 0))
		r = view_output(str_text(&output), tail_dropped(&call->worker.output), &text);
	if (r == 0)
		r = put_structured(&structured, call, answer, &output, notice);
	if (r == 0)
		r = result_put(server, &result, str_text(&text), str_text(&structured), !was_run);
	json_decref(answer);
	if (r < 0)
		server->error = r;
	else
		server_answer(server, &call->reply, &result);
	resources_after_run(server);
	return false;
}

/* --- what other verbs print --- */

/* Our own session, beside what holds for everybody. */
static int add_connection(const struct server *server, json_t *data)
{
	const struct session *session = &server->session;
	json_t *about = json_pack("{s:s?, s:s?, s:b}", "session", session->name, "stage",
				  session->stage, "staged",
				  server->setup.staged || session->stage != NULL);
	json_t *options = json_array();
	int r = about && options ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < server->setup.session->len; i++)
		r = json_array_append_new(options, json_string(server->setup.session->items[i]));
	if (r == 0)
		r = json_object_set(about, "options", options);
	if (r == 0)
		r = json_object_set(data, "connection", about);
	json_decref(options);
	json_decref(about);
	return r < 0 ? -ENOMEM : 0;
}

/* JSON as it was printed, in one line; lists become a member. */
static int put_data(const struct call *call, json_t *data, struct str *out)
{
	_cleanup_(freep) char *dump = json_dumps(data, JSON_COMPACT | JSON_ENCODE_ANY);

	if (!dump)
		return -ENOMEM;
	if (json_is_object(data))
		return str_append(out, dump);
	return str_appendf(out, "{\"%s\":%s}", call->tool->list ? call->tool->list : "value", dump);
}

static int refuse_data(const struct server *server, const struct call *call, struct str *result)
{
	_cleanup_(str_release) struct str text = {0};
	int r = call->worker.is_cut
			? str_append(&text, "there is more than can be answered; ask for less")
			: worker_complaint(&call->worker, &text);

	return r < 0 ? r : result_put(server, result, str_text(&text), NULL, true);
}

static int put_done(const struct server *server, const struct call *call, struct str *result)
{
	_cleanup_(str_release) struct str text = {0};
	int r = text_append_clean(&text, str_text(&call->worker.data), call->worker.data.len);

	if (r == 0)
		r = tail_text(&call->worker.output, &text);
	if (r == 0 && text.len == 0)
		r = str_append(&text, "done");
	return r < 0 ? r : result_put(server, result, str_text(&text), "{\"done\":true}", false);
}

/* What can be taken back. */
static int keep_id(struct server *server, const struct call *call, json_t *data)
{
	const char *id = json_string_value(json_object_get(data, "id"));
	enum tool_id tool = (enum tool_id)(call->tool - tools);

	if (id && (tool == TOOL_APPLY || tool == TOOL_DISCARD))
		return strv_add(&server->done, id);
	if (tool == TOOL_UNDO && server->done.len > 0) {
		free(server->done.items[--server->done.len]);
		server->done.items[server->done.len] = NULL;
	}
	return 0;
}

static int put_answer(struct server *server, const struct call *call, json_t *data,
		      struct str *result)
{
	_cleanup_(str_release) struct str text = {0}, structured = {0};
	int r = keep_id(server, call, data);

	if (r == 0 && call->tool - tools == TOOL_SANDBOX_STATUS)
		r = add_connection(server, data);
	if (r == 0)
		r = call->tool - tools == TOOL_SANDBOX_INFO ? view_info(data, &structured)
							    : put_data(call, data, &structured);
	if (r == 0)
		r = view_text(call->tool, data, str_text(&structured), &text);
	return r < 0 ? r
		     : result_put(server, result, str_text(&text), str_text(&structured), false);
}

/* A patch, cut where it is too long to be read. */
static int put_patch(const struct server *server, const struct call *call, struct str *result)
{
	_cleanup_(str_release) struct str text = {0}, structured = {0}, shown = {0};
	struct json json = {.out = &structured};
	size_t len = call->worker.data.len;
	int r = text_append_clean(&text, str_text(&call->worker.data),
				  len > PATCH_MAX ? PATCH_MAX : len);

	if (r == 0 && text.len == 0)
		r = str_append(&shown, "nothing is staged");
	else if (r == 0)
		r = view_patch(str_text(&text), len > PATCH_MAX, &shown);
	json_begin_object(&json, NULL);
	json_add_string(&json, "stage", server->session.stage);
	json_add_string(&json, "patch", str_text(&text));
	json_add_bool(&json, "more", len > PATCH_MAX);
	json_end_object(&json);
	if (r == 0)
		r = json_finish(&json);
	return r < 0 ? r : result_put(server, result, str_text(&shown), structured.data, false);
}

static bool runs_now(const struct call *call)
{
	return call->tool - tools == TOOL_REGISTER_COMMAND &&
	       json_is_true(json_object_get(call->args, "run_now"));
}

static bool is_patch(const struct call *call)
{
	return call->tool - tools == TOOL_DIFF &&
	       !json_is_true(json_object_get(call->args, "stat"));
}

static bool has_failed(const struct call *call)
{
	_cleanup_(str_release) struct str complaint = {0};
	bool told = call->tool->flags & TOOL_STATUS && call->worker.data.len > 0;

	return worker_exit(&call->worker) != 0 &&
	       (!told || told_complaint(&call->worker, &complaint) != 0);
}

static bool finish_data(struct server *server, struct call *call)
{
	_cleanup_(str_release) struct str result = {0};
	const struct worker *worker = &call->worker;
	struct rpc_error error;
	json_t *data = NULL;
	bool failed = has_failed(call);
	int r;

	if (failed && session_replace(server, call, NULL))
		return true;
	/* Ended is ended, whoever did it. */
	if (call_is_alone(call) && call->step == 0 &&
	    (!failed || session_is_gone(&server->session))) {
		session_was_ended(server);
		call->step = 1;
		if (tool_prepare(server, call, &error) < 0)
			server->error = -ENOMEM;
		return true;
	}
	if (!failed && runs_now(call)) {
		server->error = tool_prepare_run_now(server, call);
		return true;
	}
	if (!failed && is_patch(call))
		r = put_patch(server, call, &result);
	else if (failed || worker->is_cut)
		r = refuse_data(server, call, &result);
	else if (call->tool->flags & TOOL_NO_JSON)
		r = put_done(server, call, &result);
	else if (rpc_parse(str_text(&worker->data), worker->data.len, &data, &error) < 0)
		r = result_put(server, &result, "pale's answer cannot be read", NULL, true);
	else
		r = put_answer(server, call, data, &result);
	json_decref(data);
	return finish(server, call, r, &result);
}

/* What the sandbox of a command that did nothing was. */
static bool finish_asked(struct server *server, struct call *call)
{
	_cleanup_(str_release) struct str result = {0}, structured = {0}, text = {0};
	const struct str *answer = &call->worker.answer;
	struct rpc_error error;
	json_t *data = NULL;
	int r;

	if (rpc_parse(str_text(answer), answer->len, &data, &error) < 0)
		data = NULL;
	if (is_stale(server, call, data)) {
		json_decref(data);
		return true;
	}
	if (json_object_get(data, "spec")) {
		r = view_info(data, &structured);
		if (r == 0)
			r = view_data(str_text(&structured), &text);
		if (r == 0)
			r = result_put(server, &result, text.data, structured.data, false);
	} else {
		r = data ? view_run(data, &text) : str_append(&text, "pale did not answer");
		if (r == 0)
			r = result_put(server, &result, text.data, NULL, true);
	}
	json_decref(data);
	return finish(server, call, r, &result);
}

bool tool_finish(struct server *server, struct call *call)
{
	if (call->has_result && call->tool - tools == TOOL_SANDBOX_INFO)
		return finish_asked(server, call);
	if (call->tool->flags & TOOL_FILES)
		return file_finish(server, call);
	return call->has_result ? finish_run(server, call) : finish_data(server, call);
}
