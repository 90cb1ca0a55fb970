/* SPDX-License-Identifier: MIT */
/*
 * session - the sandbox in which exec and the file tools work.
 *
 * Started when the first call needs it, by `pale session start`, and held by a lifeline:
 * when that hangs up, and so when we end however that comes, the session ends too.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/proc.h"
#include "mcp/impl.h"
#include "mcp/views.h"

enum { TRIES_MAX = 40, RETRY_MS = 25, CLEAN_MS = 3000, RETRIES_MAX = 10 };

bool session_is_needed(const struct server *server)
{
	if (server->session.state != SESSION_NONE || calls_has_alone(server))
		return false;
	for (const struct call *call = server->calls; call; call = call->next)
		if (call->needs_session && !call->cancelled)
			return true;
	return false;
}

static char *random_name(void)
{
	unsigned char seed[5];

	if (getrandom(seed, sizeof(seed), 0) != sizeof(seed))
		return NULL;
	return str_printf("mcp-%02x%02x%02x%02x%02x", seed[0], seed[1], seed[2], seed[3], seed[4]);
}

static void let_go(struct session *session)
{
	free(take_ptr(session->name));
	session->lifeline = fd_close(session->lifeline);
	session->state = SESSION_NONE;
}

/* Nothing of what waits for it can be done. */
static void fail_waiting(struct server *server, const char *why)
{
	for (struct call *call = server->calls; call; call = call->next) {
		_cleanup_(str_release) struct str result = {0}, text = {0};

		if (!call->needs_session || call->is_working || call->cancelled)
			continue;
		call->cancelled = true;
		if (str_appendf(&text, "the sandbox could not be started: %s", why) < 0 ||
		    result_put(server, &result, text.data, NULL, true) < 0)
			server->error = -ENOMEM;
		else
			server_answer(server, &call->reply, &result);
	}
}

bool session_started(struct server *server, struct call *call)
{
	struct session *session = &server->session;
	_cleanup_(str_release) struct str why = {0};
	const struct worker *worker = &call->worker;
	struct rpc_error error;
	json_t *data = NULL;
	const char *stage;

	/* Nobody waits for this one any more. */
	if (session->state != SESSION_STARTING || call->generation != session->generation)
		return false;
	if (worker_exit(worker) != 0 ||
	    rpc_parse(str_text(&worker->data), worker->data.len, &data, &error) < 0) {
		if (worker_complaint(worker, &why) < 0)
			server->error = -ENOMEM;
		let_go(session);
		/* The configuration was being written: in a moment it can be told from what
		 * it was. */
		if (strstr(str_text(&why), "changed just now") && session->tries++ < TRIES_MAX) {
			session->retry_ns = server->now_ns + RETRY_MS * 1000000ull;
			return false;
		}
		session->tries = 0;
		fail_waiting(server, str_text(&why));
		return false;
	}
	session->tries = 0;
	server_log(server, 6, "the sandbox %s was started", session->name);
	stage = json_string_value(json_object_get(data, "stage"));
	free(session->stage);
	session->stage = stage ? strdup(stage) : NULL;
	session->state = SESSION_READY;
	if (stage && !session->stage)
		server->error = -ENOMEM;
	json_decref(data);
	return false;
}

void session_failed(struct server *server, int r)
{
	_cleanup_(str_release) struct str why = {0};

	let_go(&server->session);
	server->session.tries = 0;
	if (str_appendf(&why, "nothing can be executed in %s: %s", server->setup.workspace,
			strerror(-r)) < 0)
		server->error = -ENOMEM;
	fail_waiting(server, str_text(&why));
}

static int make_argv(const struct server *server, struct call *call)
{
	int r = argv_begin(call, "session start");

	if (r == 0)
		r = strv_addf(&call->argv, "--workspace=%s", server->setup.workspace);
	if (r == 0)
		r = strv_add(&call->argv, "--json");
	if (r == 0)
		r = strv_addf(&call->argv, "--lifeline-fd=%d", WORKER_PASSED_FD);
	for (size_t i = 0; r == 0 && i < server->setup.session->len; i++)
		r = strv_add(&call->argv, server->setup.session->items[i]);
	/* What was staged before goes on. */
	if (r == 0 && server->session.stage)
		r = strv_addf(&call->argv, "--stage=%s", server->session.stage);
	return r < 0 ? r : strv_add(&call->argv, server->session.name);
}

int session_start(struct server *server)
{
	struct session *session = &server->session;
	struct call *call = call_new(NULL, NULL);
	int pair[2], r = call ? 0 : -ENOMEM;

	session->name = random_name();
	session->generation++;
	if (r == 0 && (!session->name || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)))
		r = -ENOMEM;
	if (r == 0) {
		session->lifeline = pair[0];
		call->passed = pair[1];
		call->finish = session_started;
		r = make_argv(server, call);
	}
	/* One of our own is let in even when many wait. */
	if (r == 0) {
		call->next = server->calls;
		server->calls = call;
		server->waiting++;
		session->state = SESSION_STARTING;
		return 0;
	}
	call_free(call);
	return r;
}

void session_end(struct server *server)
{
	let_go(&server->session);
	free(take_ptr(server->session.stage));
	free(take_ptr(server->session.notice));
}

void session_was_ended(struct server *server)
{
	struct session *session = &server->session;

	let_go(session);
	free(session->notice);
	session->notice = strdup("the sandbox was ended, since this is changed without one; "
				 "what ran in it is gone");
}

static void run_verb(const struct server *server, const char *verb, const char *sub_verb,
		     const char *name)
{
	_cleanup_(freep) char *workspace = str_printf("--workspace=%s", server->setup.workspace);
	char *const argv[] = {"pale",    (char *)verb, (char *)sub_verb,
			      workspace, (char *)name, NULL};
	struct child child = {.path = server->setup.program,
			      .argv = argv,
			      .envp = environ,
			      .timeout_ms = CLEAN_MS};

	if (workspace)
		(void)child_run(&child, NULL, NULL);
}

/* A stage that holds nothing is of no use to anybody; one that does is not removed. */
void server_clean(struct server *server)
{
	struct session *session = &server->session;
	_cleanup_(freep) char *name = take_ptr(session->name);

	session->lifeline = fd_close(session->lifeline);
	if (session->stage && name)
		run_verb(server, "session", "rm", name);
	if (session->stage)
		run_verb(server, "stages", "rm", session->stage);
	session_end(server);
}

bool session_is_gone(const struct session *session)
{
	struct pollfd fd = {.fd = session->lifeline};

	return session->state == SESSION_READY && session->lifeline >= 0 && poll(&fd, 1, 0) > 0;
}

void session_check(struct server *server)
{
	if (session_is_gone(&server->session))
		let_go(&server->session);
}

bool session_took_along(const struct server *server, const struct call *call)
{
	return call->needs_session && (call->generation != server->session.generation ||
				       server->session.state == SESSION_NONE);
}

/* The code first: messages may quote what a client has sent. */
static bool says(json_t *error, enum err_code code, const char *text)
{
	const char *message = json_string_value(json_object_get(error, "message"));

	return error_is(error, code) && message && strstr(message, text);
}

bool session_replace(struct server *server, struct call *call, json_t *error)
{
	struct session *session = &server->session;
	bool is_gone = session_is_gone(session) ||
		       says(error, ERR_SYSTEM, "the session has just ended");

	if (!call->needs_session || call->retries == RETRIES_MAX)
		return false;
	/* It may have been executed: then never again. */
	if (error_is(error, ERR_LOST)) {
		if (call->generation == session->generation)
			let_go(session);
		return false;
	}
	/* Else another call has seen to it already. */
	if (call->generation == session->generation && session->state == SESSION_READY) {
		if (!is_gone && !says(error, ERR_POLICY, "has changed since session"))
			return false;
		let_go(session);
		free(session->notice);
		session->notice = strdup(is_gone ? "the sandbox had ended, and a new one was "
						   "started; what ran in it is gone"
						 : "the policy has changed, and a new sandbox was "
						   "started; what ran in the old one is gone");
	}
	call->retries++;
	return true;
}
