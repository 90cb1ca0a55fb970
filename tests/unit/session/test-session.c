/* SPDX-License-Identifier: MIT */
/* Names, messages, and output that is kept: the parts of sessions that need no sandbox. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "session/keeper-impl.h"
#include "tap.h"

static void names(void)
{
	static const char *const bad[] = {"", ".", "..", ".x", "-x", "_x", "a/b", "a b", "a\n"};
	char longest[SESSION_NAME_MAX + 2];

	memset(longest, 'x', sizeof(longest));
	longest[SESSION_NAME_MAX + 1] = '\0';
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(!session_name_is_valid(bad[i]), "'%s' is no name", bad[i]);
	tap_ok(!session_name_is_valid(longest), "65 letters are none");
	tap_ok(session_name_is_valid(longest + 1), "64 are one");
	tap_ok(session_name_is_valid("A-1._"), "and so is this");
}

static void messages(void)
{
	static struct session_buffer buffer;
	struct str body = {0};
	struct session_message m;
	struct session_cursor c;
	struct err err = {.code = ERR_POLICY, .errnum = ESTALE}, back;
	int pair[2];

	snprintf(err.message, sizeof(err.message), "why");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0 ||
	    session_put_failure(&body, &err) < 0)
		abort();
	tap_eq_int(session_send(pair[0], SESSION_ERROR, 0, &body, pair, 2, 0), 0, "sent");
	tap_eq_int(session_receive(pair[1], &buffer, &m, 0), 0, "received");
	c = session_cursor(&m);
	tap_ok(m.n_fds == 2 && session_take_failure(&c, &back) && session_take_end(&c) &&
		       back.code == ERR_POLICY && back.errnum == ESTALE,
	       "an error with two descriptors is what it was");
	session_message_release(&m, &buffer);
	for (int i = 0; i < 100000; i++)
		if (str_append_char(&body, 'x') < 0)
			abort();
	tap_eq_int(session_send(pair[0], SESSION_ERROR, 0, &body, NULL, 0, 0), 0, "a long one");
	tap_eq_int(session_receive(pair[1], &buffer, &m, 0), 0, "comes");
	tap_ok(m.mapped && m.head.len == body.len && memcmp(m.body, body.data, body.len) == 0 &&
		       m.n_fds == 0,
	       "as it was, in a file");
	session_message_release(&m, &buffer);
	tap_ok(send(pair[0], "nonsense", 8, 0) == 8, "nonsense");
	tap_eq_int(session_receive(pair[1], &buffer, &m, 0), -EBADMSG, "is none");
	fd_close(pair[0]);
	tap_eq_int(session_receive(pair[1], &buffer, &m, 0), -EPIPE, "nobody is there");
	fd_close(pair[1]);
	str_release(&body);
}

static void output(void)
{
	struct job_output out = {.pipe = -1, .file = -1};
	char dir[] = "/tmp/test-session-XXXXXX", buf[4096], text[100];
	struct session_bytes at;
	int writer = -1, fd = mkdtemp(dir) ? open(dir, O_RDONLY | O_DIRECTORY) : -1;
	size_t n;

	tap_eq_int(job_output_open(&out, fd, "run", 400, &writer, NULL), 0, "opened");
	for (int i = 0; i < 30; i++) {
		memset(text, 'a' + i % 26, sizeof(text));
		tap_ok(write(writer, text, sizeof(text)) == 100 && job_output_fill(&out),
		       "part %d comes", i);
	}
	n = job_output_read(&out, 0, buf, sizeof(buf), &at);
	tap_ok(n == 100 && buf[0] == 'a' && at.next == 2700 && at.total == 3000 &&
		       at.dropped == 2600,
	       "the beginning, and where the rest is");
	n = job_output_read(&out, at.next, buf, sizeof(buf), &at);
	tap_ok(n == 300 && at.from == 2700 && at.next == 3000 && buf[0] == 'b' && buf[299] == 'd',
	       "the end");
	n = job_output_read(&out, 5000, buf, sizeof(buf), &at);
	tap_ok(n == 0 && at.next == 3000, "nothing is behind it");
	fd_close(writer);
	tap_ok(!job_output_fill(&out), "and that was all");
	job_output_close(&out);
	(void)unlinkat(fd, "run", 0);
	fd_close(fd);
	(void)rmdir(dir);
}

int main(void)
{
	names();
	messages();
	output();
	return tap_done();
}
