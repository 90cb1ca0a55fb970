/* SPDX-License-Identifier: MIT */
#include "base/bound-sockets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "scratch.h"
#include "tap.h"

struct seen {
	struct strv names;
	uint32_t ino; /* of the last one */
	dev_t dev;
	const char *stop; /* end at this one */
	const char *find; /* whose numbers are taken */
};

static int take(void *data, const struct bound_socket *socket, struct err *err)
{
	struct seen *seen = data;

	if (strv_add(&seen->names, socket->name) < 0)
		abort();
	if (!seen->find || str_eq(seen->find, socket->name)) {
		seen->ino = socket->ino;
		seen->dev = socket->dev;
	}
	return str_eq(seen->stop, socket->name) ? err_set(err, ERR_POLICY, -EPERM, "enough") : 0;
}

#define HEADER "Num       RefCount Protocol Flags    Type St Inode Path\n"
#define RECORD "ffff8e0d: 00000002 00000000 00010000 0001 01 "

static void parses(const char *text, const char *want, const char *what)
{
	_cleanup_(str_release) struct str got = {0};
	struct seen seen = {0};
	struct err err = {0};
	int r = bound_sockets_parse(text, strlen(text), take, &seen, &err);

	for (size_t i = 0; i < seen.names.len; i++)
		str_appendf(&got, "<%s>", seen.names.items[i]);
	tap_ok(r == 0 && str_eq(str_text(&got), want) && seen.ino == 0, "%s: %s", what,
	       str_text(&got));
	strv_release(&seen.names);
}

static void test_text(void)
{
	char longest[sizeof(((struct bound_socket *)NULL)->name)];
	_cleanup_(freep) char *text = NULL, *want = NULL;

	parses("", "", "nothing");
	parses(HEADER, "", "no socket");
	parses(HEADER RECORD "77\n" RECORD "    8\n", "", "none with a name");
	parses(HEADER RECORD "77 /run/a\n" RECORD "8 rel/b\n", "</run/a><rel/b>", "two names");
	parses(HEADER RECORD "77 @abstract\n", "<@abstract>", "one that may be a file");
	parses(HEADER RECORD "77  blank \n", "< blank >", "blanks are its own");
	parses(HEADER RECORD "77 /a\nb\n\nc\n" RECORD "78 /d\n", "</a\nb\n\nc></d>",
	       "newlines, too");
	parses(HEADER RECORD "77 /a\nffff8e0d: 00000002\n" RECORD "78\n",
	       "</a\nffff8e0d: 00000002>", "what begins like another");
	parses(HEADER RECORD "77 /cut", "</cut>", "cut short");
	parses(HEADER RECORD, "", "cut shorter");
	parses(HEADER RECORD "77 ", "", "cut at the name");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	text = str_printf(HEADER RECORD "7 %s\n" RECORD "8 %sy\n", longest, longest);
	want = str_printf("<%s>", longest);
	parses(text, want, "as long as one can be, and longer");
}

static void test_stop(void)
{
	struct seen seen = {.stop = "/a"};
	struct err err = {0};
	const char *text = HEADER RECORD "7 /a\n" RECORD "8 /b\n";

	tap_eq_int(bound_sockets_parse(text, strlen(text), take, &seen, &err), -EPERM,
		   "what is called can end it");
	tap_eq_int((long long)seen.names.len, 1, "at once");
	tap_eq_str(err.message, "enough", "with its own reason");
	strv_release(&seen.names);
}

static int bind_at(const char *name, int type)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	memcpy(at.sun_path, name, strlen(name));
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		abort();
	return fd;
}

/* The numbers are of the file: those of this kernel, where it says any. */
static void test_kernel(void)
{
	static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
	struct seen seen = {.find = "own\nsocket"};
	struct err err = {0};
	struct stat st;
	int fd, r;

	for (size_t i = 0; i < array_len(types); i++) {
		seen = (struct seen){.find = "own\nsocket"};
		fd = bind_at("own\nsocket", types[i]);
		r = bound_sockets_list(take, &seen, &err);
		tap_ok(r == 0 && strv_has(&seen.names, "own\nsocket"), "one of type %d: %s",
		       types[i], err.message);
		tap_ok(stat("own\nsocket", &st) == 0 &&
			       (seen.ino == 0 || seen.ino == (uint32_t)st.st_ino),
		       "its file");
		strv_release(&seen.names);
		close(fd);
		seen = (struct seen){0};
		r = bound_sockets_list(take, &seen, &err);
		tap_ok(r == 0 && !strv_has(&seen.names, "own\nsocket"), "closed, it is none");
		strv_release(&seen.names);
		unlink("own\nsocket");
	}
	fd = bind_at("stops", SOCK_STREAM);
	seen = (struct seen){.stop = "stops"};
	tap_eq_int(bound_sockets_list(take, &seen, &err), -EPERM, "the list can be ended");
	tap_eq_str(err.message, "enough", "and no other is tried");
	strv_release(&seen.names);
	close(fd);
}

int main(void)
{
	scratch_enter();
	test_text();
	test_stop();
	test_kernel();
	scratch_leave();
	return tap_done();
}
