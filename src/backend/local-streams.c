/* SPDX-License-Identifier: MIT */
#include "backend/local-streams.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "engine/streams.h"
#include "plan/plan.h"
#include "warden/protocol.h"

struct local_streams {
	struct streams streams;
	struct loop *loop;
	/* Of a terminal; -1: there is none. */
	int null;
	int orders; /* what streams would say to a warden comes out here */
	int channel;
	void (*tell)(void *data, int sig);
	void *data;
};

/* As streams_init() decides. */
static bool is_needed(int number, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	if (S_ISREG(st.st_mode))
		return number == STDIN_FILENO || fcntl(fd, F_GETFL) & O_APPEND;
	return S_ISFIFO(st.st_mode) || (S_ISCHR(st.st_mode) && isatty(fd));
}

bool local_streams_are_needed(const struct stdio *stdio)
{
	for (int i = 0; i < 3; i++)
		if (is_needed(i, stdio->fd[i]))
			return true;
	return false;
}

int local_streams_new(const struct stdio *stdio, uint64_t max_output, struct local_streams **ret,
		      struct err *err)
{
	struct local_streams *s = calloc(1, sizeof(*s));
	const struct plan plan = {.max_output = max_output, .confined = true};
	int r;

	if (!s)
		return err_oom(err);
	s->null = s->orders = s->channel = -1;
	r = streams_init(&s->streams, &plan, stdio, err);
	if (r == 0 && local_streams_pty(s)) {
		s->null = fd_open("/dev/null", O_RDWR);
		r = s->null < 0 ? err_sys(err, -errno, "open /dev/null") : 0;
	}
	if (r < 0) {
		(void)local_streams_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void local_streams_fds(const struct local_streams *s, int ret[3])
{
	for (int i = 0; i < 3; i++)
		ret[i] = s->streams.terminal.like.mask & 1u << i ? s->null : s->streams.inner.fd[i];
}

const struct pty *local_streams_pty(const struct local_streams *s)
{
	return s->streams.terminal.like.mask ? &s->streams.terminal.like : NULL;
}

static void on_order(void *data, short revents)
{
	struct local_streams *s = data;
	struct warden_order order;

	(void)revents;
	if (warden_receive_order(s->orders, &order) == 0)
		s->tell(s->data, order.value);
	else
		loop_remove(s->loop, s->orders);
}

int local_streams_start(struct local_streams *s, struct loop *loop,
			void (*tell)(void *data, int sig), void *data)
{
	int pair[2] = {-1, -1};

	if (local_streams_pty(s) && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	s->channel = pair[0];
	s->orders = pair[1];
	s->loop = loop;
	s->tell = tell;
	s->data = data;
	streams_start(&s->streams, loop, s->channel);
	return s->orders < 0 ? 0 : loop_add(loop, s->orders, POLLIN, on_order, s);
}

void local_streams_attach(struct local_streams *s, int master)
{
	streams_attach(&s->streams, master);
}

void local_streams_suspend(struct local_streams *s)
{
	streams_suspend(&s->streams);
}

void local_streams_resume(struct local_streams *s)
{
	streams_resume(&s->streams);
}

void local_streams_hold(struct local_streams *s, bool held)
{
	streams_hold(&s->streams, held);
}

void local_streams_resize(struct local_streams *s)
{
	terminal_resize(&s->streams.terminal);
}

bool local_streams_end(struct local_streams *s)
{
	return streams_end(&s->streams);
}

uint64_t local_streams_free(struct local_streams *s)
{
	uint64_t dropped;

	if (!s)
		return 0;
	dropped = streams_release(&s->streams);
	fd_close(s->null);
	fd_close(s->orders);
	fd_close(s->channel);
	free(s);
	return dropped;
}
