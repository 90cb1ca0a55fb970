/* SPDX-License-Identifier: MIT */
#include "engine/inlet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"

enum { PAGE = 4096, LEND_MAX = 65536 };

/* In one page there is room again when all of it was read, and not before. */
int inlet_open(struct inlet *in, int outer, struct err *err)
{
	int pair[2], r = fd_pipe_for(S_IROTH, pair);

	if (r < 0)
		return err_sys(err, r, "make a pipe for the input");
	*in = (struct inlet){.outer = outer, .reader = pair[0], .writer = pair[1]};
	return fcntl(in->writer, F_SETPIPE_SZ, PAGE) < 0
		       ? err_sys(err, -errno, "make a small pipe for the input")
		       : 0;
}

static bool is_ready(int fd, short events)
{
	struct pollfd pfd = {.fd = fd, .events = events};

	return poll(&pfd, 1, 0) > 0 && pfd.revents & events;
}

/* LEN of what was lent was read. Others may have the caller's pipe: ask first. */
static void take_out(struct inlet *in, size_t len)
{
	char scrap[PAGE];

	in->lent -= len;
	while (len > 0 && is_ready(in->outer, POLLIN)) {
		ssize_t n = read(in->outer, scrap, len < sizeof(scrap) ? len : sizeof(scrap));

		if (n <= 0 && !(n < 0 && errno == EINTR))
			return;
		len -= n > 0 ? (size_t)n : 0;
	}
}

static size_t count_unread(const struct inlet *in)
{
	int n = 0;

	return ioctl(in->writer, FIONREAD, &n) < 0 || n < 0 ? 0 : (size_t)n;
}

void inlet_close(struct inlet *in)
{
	if (in->outer_on)
		loop_remove(in->loop, in->outer);
	if (in->writer_on)
		loop_remove(in->loop, in->writer);
	in->outer_on = in->writer_on = false;
	if (in->writer >= 0) {
		size_t unread = count_unread(in);

		take_out(in, in->lent > unread ? in->lent - unread : 0);
	}
	in->lent = 0;
	in->reader = fd_close(in->reader);
	in->writer = fd_close(in->writer);
}

static void on_outer(void *data, short revents);

/* For room as long as something is lent, for something to lend otherwise. */
static void await(struct inlet *in, bool room)
{
	loop_set_events(in->loop, in->writer, room ? POLLOUT : 0);
	if (!room && !in->outer_on)
		in->outer_on = loop_add(in->loop, in->outer, POLLIN, on_outer, in) == 0;
	else if (room && in->outer_on) {
		loop_remove(in->loop, in->outer);
		in->outer_on = false;
	}
}

static void lend(struct inlet *in)
{
	ssize_t n = tee(in->outer, in->writer, LEND_MAX, SPLICE_F_NONBLOCK);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		inlet_close(in);
		return;
	}
	in->lent = n > 0 ? (size_t)n : 0;
	/* The command can fill its pipe itself, if it likes. */
	await(in, n > 0 || !is_ready(in->writer, POLLOUT));
}

static void on_outer(void *data, short revents)
{
	(void)revents;
	lend(data);
}

static void on_writer(void *data, short revents)
{
	struct inlet *in = data;

	if (revents & (POLLERR | POLLHUP | POLLNVAL)) {
		inlet_close(in);
		return;
	}
	take_out(in, in->lent);
	lend(in);
}

void inlet_start(struct inlet *in, struct loop *loop)
{
	if (in->writer < 0)
		return;
	in->loop = loop;
	in->reader = fd_close(in->reader);
	in->writer_on = loop_add(loop, in->writer, 0, on_writer, in) == 0;
	if (in->writer_on)
		lend(in);
	else
		inlet_close(in);
}
