/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/json-read.h"
#include "session/session-place.h"
#include "session/session-proto.h"
#include "session/session.h"

enum { INFO_MS = 3000 };

static int take_answer(int sock, struct session_buffer *buffer, struct session_message *ret,
		       struct err *err)
{
	int r = session_receive(sock, buffer, ret, 0);
	struct session_cursor c;
	struct err why = {0};

	/* Who is refused before the request was read hears of that first, then why. */
	if (r == -ECONNRESET)
		r = session_receive(sock, buffer, ret, 0);
	if (r == -EPIPE)
		return err_set(err, ERR_LOST, r, "the session has ended");
	if (r < 0)
		return err_sys(err, r, "the session's answer");
	if (ret->head.kind != SESSION_ERROR)
		return 0;
	c = session_cursor(ret);
	if (session_take_failure(&c, &why)) {
		r = -why.errnum;
		if (err)
			*err = why;
	} else {
		r = err_sys(err, -EBADMSG, "the session's answer");
	}
	session_message_release(ret, buffer);
	return r < 0 ? r : -EIO;
}

int session_ask(int sock, int kind, uint32_t flags, const struct str *body,
		struct session_buffer *buffer, struct session_message *ret, int timeout_ms,
		struct err *err)
{
	struct pollfd pfd = {.fd = sock, .events = POLLIN};
	uint64_t until = clock_mono_ns() + (uint64_t)timeout_ms * 1000000;
	int n, r = session_send(sock, (enum session_kind)kind, flags, body, NULL, 0, 0);

	if (r == -EPIPE || r == -ECONNRESET) /* it may have said why before */
		return take_answer(sock, buffer, ret, err);
	if (r < 0)
		return err_sys(err, r, "ask the session");
	for (;;) {
		uint64_t now = clock_mono_ns();
		int left = timeout_ms < 0 ? -1
			   : now < until  ? (int)((until - now + 999999) / 1000000)
					  : 0;

		n = poll(&pfd, 1, left);
		if (n > 0)
			return take_answer(sock, buffer, ret, err);
		if (n == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return err_sys(err, -errno, "poll");
	}
}

/* How many commands of FACTS are called so; the last of them in RET. */
static size_t match(const char *facts, const char *id, char ret[RUN_ID_SIZE])
{
	struct json_slice object, commands, item;
	size_t cursor = 0, n = 0;

	if (!json_slice_init(&object, facts, strlen(facts)) ||
	    !json_get(object, "commands", &commands))
		return 0;
	while (json_next_item(commands, &cursor, &item)) {
		_cleanup_(freep) char *run = json_get_text(item, "run");
		struct json_slice background;

		if (!run || strncmp(run, id, strlen(id)) != 0 ||
		    !json_get(item, "background", &background) || background.text[0] != 't')
			continue;
		snprintf(ret, RUN_ID_SIZE, "%s", run);
		n++;
	}
	return n;
}

/* -1, or a connection to the one session that has it. */
struct search {
	const char *id;
	size_t n;
	int sock;
	char run[RUN_ID_SIZE];
};

static void look_in(struct search *s, const char *folder, const char *name)
{
	static struct session_buffer buffer;
	_cleanup_(fd_closep) int sock = session_connect(folder, name, NULL);
	struct session_message m;
	struct session_cursor c;
	const char *facts;
	size_t n;

	if (sock < 0 || session_ask(sock, SESSION_INFO, 0, NULL, &buffer, &m, INFO_MS, NULL) < 0)
		return;
	c = session_cursor(&m);
	facts = session_take_string(&c);
	n = facts ? match(facts, s->id, s->run) : 0;
	session_message_release(&m, &buffer);
	s->n += n;
	if (n == 0)
		return;
	fd_close(s->sock);
	s->sock = take_fd(sock);
}

static int look_everywhere(struct search *s, const struct session_where *where, struct err *err)
{
	_cleanup_(strv_release) struct strv names = {0};
	_cleanup_(freep) char *folder = NULL;
	_cleanup_(fd_closep) int parent = -1;
	int r = session_locate(where->workspace, &folder, err);

	if (r < 0)
		return r;
	parent = session_folder_open(folder, err);
	if (parent < 0)
		return parent == -ENOENT ? 0 : parent;
	r = session_names(parent, &names, err);
	for (size_t i = 0; i < names.len && r == 0; i++)
		if (!where->session || str_eq(where->session, names.items[i]))
			look_in(s, folder, names.items[i]);
	return r;
}

int session_find_job(const struct session_where *where, const char *id, char ret_id[RUN_ID_SIZE],
		     struct err *err)
{
	struct search s = {.id = id, .sock = -1};
	int r = look_everywhere(&s, where, err);

	if (r == 0 && s.n == 1) {
		memcpy(ret_id, s.run, RUN_ID_SIZE);
		return s.sock;
	}
	fd_close(s.sock);
	if (r < 0)
		return r;
	if (s.n > 1)
		return err_set(err, ERR_USAGE, -EINVAL,
			       "the ids of %zu commands begin with '%.40s'", s.n, id);
	err_set(err, ERR_USAGE, -ENOENT, "no session here has a command '%.40s' in the background",
		id);
	return err_hint(err, -ENOENT,
			"pale session list -j lists them; `pale show` knows runs "
			"that are over");
}
