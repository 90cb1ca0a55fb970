/* SPDX-License-Identifier: MIT */
/*
 * calls - what takes a process: waits for room, works, ends, is cancelled.
 *
 * A list in order of arrival. While nobody reads our answers nothing new is begun, so
 * that what is kept for a client is bounded by what may run at once.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "mcp/impl.h"

#define MS 1000000ull

struct call *call_new(struct rpc_message *message, struct batch *batch)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	worker_init(&call->worker);
	call->passed = -1;
	if (message) {
		json_t *meta = json_object_get(message->params, "_meta");

		call->reply.id = take_ptr(message->id);
		call->reply.batch = batch;
		call->token = rpc_id(json_object_get(meta, "progressToken"));
	}
	return call;
}

void call_free(struct call *call)
{
	if (!call)
		return;
	worker_release(&call->worker);
	fd_close(call->passed);
	free(call->reply.id);
	free(call->token);
	free(call->order);
	json_decref(call->args);
	strv_release(&call->argv);
	free(call);
}

static void link_last(struct server *server, struct call *call)
{
	struct call **at = &server->calls;

	while (*at)
		at = &(*at)->next;
	*at = call;
	call->next = NULL;
}

int call_queue(struct server *server, struct call *call, struct rpc_error *error)
{
	size_t bytes = server->line_len;

	for (const struct call *other = server->calls; other; other = other->next)
		bytes += other->cost;
	if (server->waiting >= WAITING_MAX)
		return rpc_fail(error, RPC_BUSY, "%d calls wait already", WAITING_MAX);
	if (bytes > LIVING_BYTES && server->calls)
		return rpc_fail(error, RPC_BUSY, "calls of %d bytes wait already", LIVING_BYTES);
	call->cost = server->line_len;
	call->number = ++server->arrived;
	link_last(server, call);
	server->waiting++;
	return 0;
}

bool call_is_living(const struct server *server, const char *id)
{
	for (const struct call *call = server->calls; call; call = call->next)
		if (call->reply.id && str_eq(call->reply.id, id))
			return true;
	return false;
}

bool call_is_alone(const struct call *call)
{
	return call->tool && call->tool->flags & TOOL_ALONE;
}

bool calls_has_alone(const struct server *server)
{
	for (const struct call *call = server->calls; call; call = call->next)
		if (call_is_alone(call) && (call->is_working || !call->cancelled))
			return true;
	return false;
}

void call_cancel(struct server *server, const char *id)
{
	for (struct call *call = server->calls; call; call = call->next) {
		if (!call->reply.id || !str_eq(call->reply.id, id))
			continue;
		call->cancelled = true;
		server_drop(server, &call->reply);
		if (call->is_working)
			worker_end(&call->worker, server->now_ns);
		return;
	}
}

/* --- turning --- */

/* What the model can mend is no error of ours. */
static const char *complaint(const struct call *call, int r)
{
	if (r == -E2BIG)
		return "not run: one argument has at most 128 KiB, all of them together about 1 "
		       "MiB; write longer ones into a file, and have that run or read";
	if (r != -ENODATA)
		return NULL;
	return call->tool && call->tool - tools == TOOL_UNDO
		       ? "this connection has applied nothing that could be taken back"
		       : "nothing is staged";
}

static void fail(struct server *server, struct call *call, int r)
{
	const char *why = complaint(call, r);
	struct rpc_error error;
	_cleanup_(str_release) struct str result = {0};

	if (call->finish == session_started)
		session_failed(server, r);
	if (!call->reply.id)
		return;
	if (why && result_put(server, &result, why, NULL, true) == 0) {
		server_answer(server, &call->reply, &result);
		return;
	}
	rpc_fail(&error, RPC_INTERNAL_ERROR, "pale could not be started: %s", strerror(-r));
	server_refuse(server, &call->reply, &error);
}

static int begin(struct server *server, struct call *call)
{
	_cleanup_(strv_release) struct strv argv = {0};
	struct work work = {
		.argv = &argv,
		.input = call->input,
		.has_result = call->has_result,
		.is_command = call->is_command,
		.passed = call->passed,
		.texts = {call->texts[0], call->texts[1]},
	};
	int r = argv_finish(server, call, &argv);

	if (r == 0 && !server->setup.no_workers)
		r = worker_start(&call->worker, server->setup.program, server->setup.workspace,
				 &work);
	call->generation = server->session.generation;
	call->began_ns = server->now_ns;
	call->progress_ns = server->now_ns + PROGRESS_MS * MS;
	return r;
}

static bool alone_works(const struct server *server)
{
	for (const struct call *call = server->calls; call; call = call->next)
		if (call_is_alone(call) && call->is_working)
			return true;
	return false;
}

/* What is sent together is done in order where it is about one file, or in one shell: it is to
 * find what the one before it left. */
static bool waits_for_other(const struct server *server, const struct call *call)
{
	bool reads = call->order && call->tool->flags & TOOL_READ_ONLY;

	for (const struct call *other = server->calls; other && call->order; other = other->next)
		if (other->order && other->number < call->number &&
		    (other->is_working || !other->cancelled) &&
		    !(reads && other->tool->flags & TOOL_READ_ONLY) &&
		    str_eq(other->order, call->order))
			return true;
	return false;
}

static bool may_begin(const struct server *server, const struct call *call)
{
	enum session_state state = server->session.state;

	if (call->cancelled || (call->needs_session && state != SESSION_READY))
		return false;
	/* Our own are not held up by what they are to make possible. */
	if (!call->reply.id)
		return true;
	if (server->running >= RUNNING_MAX || !server_wants_input(server))
		return false;
	if (call_is_alone(call))
		return state != SESSION_STARTING && !alone_works(server);
	return (!call->needs_session || !calls_has_alone(server)) && !waits_for_other(server, call);
}

/* *AT leaves the list. */
static struct call *unlink_call(struct call **at)
{
	struct call *call = *at;

	*at = call->next;
	call->next = NULL;
	return call;
}

static void tell_progress(struct server *server, struct call *call)
{
	_cleanup_(str_release) struct str params = {0};
	uint64_t ms = (server->now_ns - call->began_ns) / MS;
	struct json json = {.out = &params};
	char text[96];

	call->progress_ns = server->now_ns + PROGRESS_MS * MS;
	/* Old news, when nobody reads. */
	if (server->out.len > server->out_at)
		return;
	snprintf(text, sizeof(text), "%llu.%llu s, %llu bytes of output",
		 (unsigned long long)ms / 1000, (unsigned long long)ms % 1000 / 100,
		 (unsigned long long)call->worker.output.total);
	json_begin_object(&json, NULL);
	json_add_raw(&json, "progressToken", call->token);
	json_add_uint(&json, "progress", ms);
	if (server->version >= V2025_03_26)
		json_add_string(&json, "message", text);
	json_end_object(&json);
	if (json_finish(&json) == 0)
		server_notify(server, "notifications/progress", params.data);
}

/* 1: *AT has left its place, for the end of the list or for good. */
static int step(struct server *server, struct call **at)
{
	struct call *call = *at;
	int r = server->setup.no_workers ? 1 : worker_step(&call->worker);

	if (r > 0) {
		unlink_call(at);
		server->running--;
		call->is_working = false;
		/* Whether it is over or not: nobody is to find half of it. */
		if (call->cancelled && call_is_alone(call) && call->step == 0)
			session_was_ended(server);
		if (!call->cancelled && call->finish(server, call)) {
			worker_release(&call->worker);
			link_last(server, call);
			server->waiting++;
		} else {
			call_free(call);
		}
	} else if (r == 0 && call->worker.told_ns > 0) {
		worker_end(&call->worker, server->now_ns);
	} else if (r == 0 && call->token && server->now_ns >= call->progress_ns) {
		tell_progress(server, call);
	}
	return r;
}

/* Likewise. */
static int start(struct server *server, struct call **at)
{
	struct call *call = *at;
	int r;

	if (call->cancelled) {
		call_free(unlink_call(at));
		server->waiting--;
		return 1;
	}
	if (!may_begin(server, call))
		return 0;
	server->waiting--;
	r = tool_begin(server, call);
	if (r == 0)
		r = begin(server, call);
	if (r < 0) {
		unlink_call(at);
		fail(server, call, r);
		call_free(call);
		return 1;
	}
	call->is_working = true;
	server->running++;
	return 0;
}

int server_turn(struct server *server, uint64_t now_ns)
{
	struct call **at = &server->calls;

	server->now_ns = now_ns;
	if (session_is_needed(server) && now_ns >= server->session.retry_ns &&
	    session_start(server) < 0)
		return -ENOMEM;
	while (*at && server->error == 0) {
		int r = (*at)->is_working ? step(server, at) : start(server, at);

		if (r < 0)
			return r;
		if (r == 0)
			at = &(*at)->next;
	}
	return server->error;
}

uint64_t server_due(const struct server *server, uint64_t now_ns)
{
	uint64_t due = UINT64_MAX;

	if (session_is_needed(server))
		due = server->session.retry_ns;
	for (const struct call *call = server->calls; call; call = call->next) {
		uint64_t at = call->is_working ? worker_due(&call->worker) : UINT64_MAX;

		if (!call->is_working && may_begin(server, call))
			at = now_ns;
		if (call->is_working && call->token && call->worker.told_ns == 0 &&
		    call->progress_ns < at)
			at = call->progress_ns;
		due = at < due ? at : due;
	}
	return due;
}

size_t server_fds(const struct server *server, struct pollfd *fds)
{
	size_t len = 0;

	for (const struct call *call = server->calls; call; call = call->next)
		if (call->is_working && len + WORKER_FDS <= SERVER_FDS)
			len += worker_fds(&call->worker, fds + len);
	return len;
}

size_t server_calls(const struct server *server)
{
	return server->running + server->waiting;
}

void server_end_calls(struct server *server, uint64_t now_ns)
{
	for (struct call *call = server->calls; call; call = call->next) {
		call->cancelled = true;
		server_drop(server, &call->reply);
		if (call->is_working)
			worker_end(&call->worker, now_ns);
	}
}

bool server_works(const struct server *server)
{
	return server->running > 0;
}
