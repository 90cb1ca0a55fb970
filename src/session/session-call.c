/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/asking.h"
#include "backend/local-streams.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/path.h"
#include "session/session-proto.h"
#include "session/session-questions.h"
#include "session/session-reach.h"
#include "session/session.h"
#include "warden/pty.h"

enum { TRIES = 4 };

static const int taken[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
			    SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};

struct caller {
	const struct session_call *call;
	struct loop loop;
	int sock, signals;
	struct local_streams *streams; /* NULL: there is nothing to carry */
	struct session_questions questions;
	uint64_t max_output;
	struct session_answer *answer;
	bool has_told; /* something besides the request */
	bool ended;    /* the command has, or the session: *answer or *err says how */
	bool again;    /* ask once more, with pipes */
	int r;
	struct err *err;
};

/* --- the request --- */

/* As it is called inside: without links, where it is there outside, too. */
static int put_cwd(struct str *body, const char *asked, struct err *err)
{
	_cleanup_(freep) char *cwd = getcwd(NULL, 0);
	_cleanup_(freep) char *path = NULL;
	_cleanup_(freep) char *real = NULL;

	if (!asked)
		return session_put_string(body, cwd && cwd[0] == '/' ? cwd : "/");
	if (path_normalize(cwd && cwd[0] == '/' ? cwd : "/", asked, &path) < 0)
		return err_set(err, ERR_USAGE, -EINVAL, "--cwd: \"%.200s\" is no path", asked);
	real = realpath(path, NULL);
	return session_put_string(body, real ? real : path);
}

static uint32_t count(char *const *list)
{
	uint32_t n = 0;

	while (list[n])
		n++;
	return n;
}

static int put_all(struct str *body, char *const *list)
{
	int r = 0;

	for (; *list && r == 0; list++)
		r = session_put_string(body, *list);
	return r;
}

static void put_pty(struct session_exec *fixed, const struct pty *pty)
{
	fixed->pty_mask = pty->mask;
	fixed->pty_interactive = pty->interactive;
	fixed->pty_modes = pty->modes;
	fixed->pty_size = pty->size;
}

static int make_body(const struct caller *c, struct str *body, struct err *err)
{
	static char *none[] = {NULL};
	const struct session_call *call = c->call;
	const struct pty *pty = c->streams ? local_streams_pty(c->streams) : NULL;
	struct session_exec fixed = {.timeout_ms = call->timeout_ms,
				     .cpu_ms = call->cpu_ms,
				     .memory = call->memory,
				     .pids = call->pids,
				     .max_output = call->max_output,
				     .n_argv = count(call->argv),
				     .n_env = count(environ),
				     .n_set = (uint32_t)call->set.len};
	int r;

	fixed.umask = umask(0);
	(void)umask((mode_t)fixed.umask);
	if (pty)
		put_pty(&fixed, pty);
	r = str_append_bytes(body, &fixed, sizeof(fixed));
	if (r == 0)
		r = put_cwd(body, call->cwd, err);
	if (r == 0)
		r = put_all(body, call->argv);
	if (r == 0)
		r = put_all(body, environ);
	if (r == 0)
		r = put_all(body, call->set.items ? call->set.items : none);
	if (r == -ENOMEM)
		return err_oom(err);
	if (r == 0 && body->len > SESSION_BODY_MAX)
		return err_set(err, ERR_USAGE, -E2BIG,
			       "arguments and environment are more than %d bytes",
			       SESSION_BODY_MAX);
	return r;
}

/* A session that asks does so by itself, where a person looks at what is printed. */
static uint32_t asking_flags(const struct session_call *call)
{
	if (call->asks)
		return SESSION_ASKS;
	return !call->background && !call->is_tool && !call->quiet && asking_is_possible()
		       ? SESSION_MAY_ASK
		       : 0;
}

static uint32_t flags_of(const struct caller *c)
{
	const struct session_call *call = c->call;

	return (call->background ? SESSION_BACKGROUND : 0) | (call->wants_json ? SESSION_JSON : 0) |
	       (call->is_tool ? SESSION_TOOL : 0) | (call->shell ? SESSION_SHELL : 0) |
	       (call->quiet ? SESSION_QUIET : 0) | asking_flags(call) |
	       (call->notes >= 0 ? SESSION_NOTES : 0) | (call->cwd ? SESSION_CWD_ASKED : 0) |
	       (c->max_output != UINT64_MAX ? SESSION_PIPED : 0) |
	       (c->streams && local_streams_pty(c->streams) ? SESSION_PTY : 0);
}

/* Nothing was executed. */
static int ended_unasked(struct err *err)
{
	return err_set(err, ERR_SYSTEM, -ECONNRESET, "the session has just ended");
}

/* It has hung up; perhaps it said why. */
static int take_refusal(struct caller *c, struct err *err)
{
	static struct session_buffer refusal;
	struct session_message m;
	struct session_cursor cursor;
	int r = session_receive(c->sock, &refusal, &m, MSG_DONTWAIT);

	if (r == -ECONNRESET)
		r = session_receive(c->sock, &refusal, &m, MSG_DONTWAIT);
	if (r < 0)
		return ended_unasked(err);
	cursor = session_cursor(&m);
	if (m.head.kind != SESSION_ERROR || !session_take_failure(&cursor, err))
		err_set(err, ERR_SYSTEM, -EPIPE, "the session has hung up");
	session_message_release(&m, &refusal);
	return -EPIPE;
}

static int send_request(struct caller *c, struct err *err)
{
	_cleanup_(str_release) struct str body = {0};
	int fds[4], n_fds = 0, r;

	if (!c->call->background) {
		memcpy(fds, c->call->stdio.fd, sizeof(c->call->stdio.fd));
		if (c->streams)
			local_streams_fds(c->streams, fds);
		n_fds = 3;
	}
	if (c->call->notes >= 0)
		fds[n_fds++] = c->call->notes;
	r = make_body(c, &body, err);
	if (r < 0)
		return r;
	r = session_send(c->sock, SESSION_EXEC, flags_of(c), &body, fds, (size_t)n_fds, 0);
	explicit_bzero(body.data, body.len);
	if (r == -EPIPE || r == -ECONNRESET)
		return take_refusal(c, err);
	return r < 0 ? err_sys(err, r, "ask the session") : 0;
}

/* --- while it runs --- */

static void tell(void *data, int sig)
{
	struct caller *c = data;
	const struct session_number number = {(uint64_t)sig};
	struct str body = {.data = (char *)&number, .len = sizeof(number)};

	c->has_told = true;
	(void)session_send(c->sock, SESSION_TELL, 0, &body, NULL, 0, 0);
}

/* The whole group of ours stops, as the terminal would have it. */
static void stop_like_the_command(struct caller *c)
{
	sigset_t tstp;

	if (c->streams)
		local_streams_suspend(c->streams);
	sigemptyset(&tstp);
	sigaddset(&tstp, SIGTSTP);
	(void)kill(0, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &tstp, NULL);
	sigprocmask(SIG_BLOCK, &tstp, NULL);
	if (c->streams)
		local_streams_resume(c->streams);
	tell(c, SIGCONT);
}

static void pass_signal(struct caller *c, int sig)
{
	if (sig == SIGTSTP) {
		if (c->streams)
			local_streams_suspend(c->streams);
		tell(c, SIGSTOP);
		raise(SIGSTOP);
	} else if (sig == SIGCONT) {
		tell(c, SIGCONT);
		if (c->streams)
			local_streams_resume(c->streams);
	} else if (sig == SIGWINCH) {
		if (c->streams)
			local_streams_resize(c->streams);
	} else if (c->ended) {
		c->loop.done = true; /* nothing is left but output that nobody takes */
	} else {
		tell(c, sig);
	}
}

static void on_signals(void *data, short revents)
{
	struct caller *c = data;
	struct signalfd_siginfo info;

	(void)revents;
	while (read(c->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		pass_signal(c, (int)info.ssi_signo);
}

static void on_hangup(void *data, short revents)
{
	struct caller *c = data;

	(void)revents;
	loop_remove(&c->loop, c->call->stdio.lifeline);
	c->has_told = true;
	(void)session_send(c->sock, SESSION_END, 0, NULL, NULL, 0, 0);
}

static void end(struct caller *c, int r)
{
	c->ended = true;
	c->r = r;
	loop_remove(&c->loop, c->sock);
	if (!c->streams || c->again || local_streams_end(c->streams))
		c->loop.done = true;
}

static void broken(struct caller *c)
{
	end(c, err_set(c->err, ERR_LOST, -EPIPE,
		       "the session ended, and the command with it, before its result was known"));
}

int session_take_result(struct session_message *m, struct session_answer *answer)
{
	struct session_cursor c = session_cursor(m);
	struct session_result head;
	const char *text;

	if (!session_take(&c, &head, sizeof(head)) || head.n_notes > SESSION_ARGS_MAX)
		return -EBADMSG;
	text = session_take_string(&c);
	if (!text)
		return -EBADMSG;
	answer->status = head.status;
	snprintf(answer->run, sizeof(answer->run), "%s", text);
	answer->notes.items = head.n_notes ? calloc(head.n_notes, sizeof(struct err)) : NULL;
	if (head.n_notes && !answer->notes.items)
		return -ENOMEM;
	for (; answer->notes.len < head.n_notes; answer->notes.len++)
		if (!session_take_failure(&c, &answer->notes.items[answer->notes.len]))
			return -EBADMSG;
	text = session_take_string(&c);
	return text ? str_append(&answer->json, text) : -EBADMSG;
}

static void take_started(struct caller *c, struct session_message *m)
{
	struct session_cursor cursor = session_cursor(m);
	const char *id = session_take_string(&cursor);

	if (!id) {
		broken(c);
		return;
	}
	snprintf(c->answer->run, sizeof(c->answer->run), "%s", id);
	end(c, 0);
}

static void take_failure(struct caller *c, struct session_message *m)
{
	struct session_cursor cursor = session_cursor(m);

	if (session_take_failure(&cursor, c->err))
		end(c, c->err->errnum ? -c->err->errnum : -EIO);
	else
		broken(c);
}

static void take_pipes(struct caller *c, struct session_message *m)
{
	struct session_cursor cursor = session_cursor(m);
	struct session_number number;

	if (!session_take(&cursor, &number, sizeof(number)) || c->max_output != UINT64_MAX) {
		broken(c);
		return;
	}
	c->max_output = number.value;
	c->again = true;
	end(c, 0);
}

static void take_question(struct caller *c, struct session_message *m)
{
	c->has_told = true; /* or will have */
	c->questions.sock = c->sock;
	c->questions.loop = &c->loop;
	c->questions.streams = c->streams;
	if (!session_question(&c->questions, m))
		broken(c);
}

static void take_message(struct caller *c, struct session_message *m)
{
	switch (m->head.kind) {
	case SESSION_RESULT:
		if (session_take_result(m, c->answer) < 0)
			broken(c);
		else
			end(c, 0);
		break;
	case SESSION_ERROR:
		take_failure(c, m);
		break;
	case SESSION_STARTED:
		take_started(c, m);
		break;
	case SESSION_QUESTION:
		take_question(c, m);
		break;
	case SESSION_PIPES:
		take_pipes(c, m);
		break;
	case SESSION_TERMINAL:
		if (c->streams && m->n_fds == 1) {
			local_streams_attach(c->streams, m->fds[0]);
			m->n_fds = 0;
		}
		break;
	case SESSION_STOPPED:
		if (c->streams && local_streams_pty(c->streams))
			stop_like_the_command(c);
		break;
	default:
		broken(c);
	}
}

static struct session_buffer buffer;

static void on_message(void *data, short revents)
{
	struct caller *c = data;
	struct session_message m;
	int r = session_receive(c->sock, &buffer, &m, MSG_DONTWAIT);
	bool unread = r == -ECONNRESET; /* something that we sent */

	(void)revents;
	/* Who is refused before the request was read hears of that first, then why. */
	if (unread)
		r = session_receive(c->sock, &buffer, &m, MSG_DONTWAIT);
	if (r == -EAGAIN || r == -EINTR)
		return;
	if (r < 0 && unread && !c->has_told)
		end(c, ended_unasked(c->err));
	else if (r < 0)
		broken(c);
	if (r < 0)
		return;
	take_message(c, &m);
	session_message_release(&m, &buffer);
}

/* --- the call --- */

static int catch_signals(struct caller *c, sigset_t *ret_before, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < array_len(taken); i++)
		sigaddset(&set, taken[i]);
	sigprocmask(SIG_BLOCK, &set, ret_before);
	c->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return c->signals < 0 ? err_sys(err, -errno, "signalfd") : 0;
}

static int turn(struct caller *c, struct err *err)
{
	const struct session_call *call = c->call;
	int r = 0;

	if (!call->background &&
	    (c->max_output != UINT64_MAX || local_streams_are_needed(&call->stdio)))
		r = local_streams_new(&call->stdio, c->max_output, &c->streams, err);
	if (r == 0)
		r = send_request(c, err);
	if (r == 0 && c->streams)
		r = local_streams_start(c->streams, &c->loop, tell, c);
	if (r < 0)
		return r;
	loop_add(&c->loop, c->sock, POLLIN, on_message, c);
	loop_add(&c->loop, c->signals, POLLIN, on_signals, c);
	if (call->stdio.lifeline)
		loop_add(&c->loop, call->stdio.lifeline, POLLRDHUP, on_hangup, c);
	loop_run(&c->loop);
	return c->r;
}

/* The keeper cannot know what went past us. */
static void tell_dropped(struct session_answer *answer, uint64_t dropped)
{
	static const char mark[] = "\"output_dropped\":";
	char *at = answer->json.len > 0 ? strstr(answer->json.data, mark) : NULL;
	struct str text = {0};

	if (!at || dropped == 0)
		return;
	at += sizeof(mark) - 1;
	if (str_append_bytes(&text, answer->json.data, (size_t)(at - answer->json.data)) < 0 ||
	    str_appendf(&text, "%llu", (unsigned long long)dropped) < 0 ||
	    str_append(&text, at + strspn(at, "0123456789")) < 0) {
		str_release(&text);
		return;
	}
	str_release(&answer->json);
	answer->json = text;
}

/* -ESTALE and -ECONNRESET: nothing was executed there, and signals are what they were. */
static int call_at(int sock, const struct session_call *call, struct session_answer *ret,
		   struct err *err)
{
	uint64_t max_output = UINT64_MAX;
	int signals = -1, r;
	sigset_t before;

	for (int tries = 0;; tries++) {
		struct caller c = {.call = call,
				   .sock = sock,
				   .signals = signals,
				   .max_output = max_output,
				   .answer = ret,
				   .err = err};

		r = signals >= 0 ? 0 : catch_signals(&c, &before, err);
		signals = c.signals;
		if (r == 0)
			r = turn(&c, err);
		session_questions_end(&c.questions);
		if (c.streams)
			tell_dropped(ret, local_streams_free(c.streams));
		loop_release(&c.loop);
		max_output = c.max_output;
		if (r < 0 || !c.again || tries > 0)
			break;
	}
	if (r == -ESTALE || r == -ECONNRESET) {
		fd_close(signals);
		sigprocmask(SIG_SETMASK, &before, NULL);
	}
	return r;
}

/* One that ended before it read what was asked has run nothing: the next one is as good. */
int session_call(const struct session_call *call, struct session_answer *ret, struct err *err)
{
	int sock = session_reach_first(call, err), r = sock;

	for (int tries = 1; sock >= 0; tries++) {
		r = call_at(sock, call, ret, err);
		if (call->session || tries == TRIES || (r != -ESTALE && r != -ECONNRESET))
			break;
		sock = session_reach_next(call, r == -ESTALE ? sock : fd_close(sock), err);
		if (sock < 0)
			return sock;
	}
	fd_close(sock);
	return r;
}

void session_answer_release(struct session_answer *answer)
{
	str_release(&answer->json);
	free(answer->notes.items);
	*answer = (struct session_answer){0};
}
