/* SPDX-License-Identifier: MIT */
#include "engine/inlet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"

enum { PAGE = 4096, SLOTS_MAX = 16, LOOK_US = 100, LATER_MS = 1, LATER_MAX_MS = 16 };

int inlet_open(struct inlet *in, int outer, struct err *err)
{
	int pair[2], r = fd_pipe_for(S_IROTH, pair);

	if (r < 0)
		return err_sys(err, r, "make a pipe for the input");
	*in = (struct inlet){.outer = outer, .reader = pair[0], .writer = pair[1], .slots = 1};
	return 0;
}

static bool is_ready(int fd, short events)
{
	struct pollfd pfd = {.fd = fd, .events = events};

	return poll(&pfd, 1, 0) > 0 && pfd.revents & events;
}

/* LEN of what was lent was read. Others may have the caller's pipe: ask first. */
static void take_out(struct inlet *in, size_t len)
{
	char scrap[4 * PAGE];

	in->lent -= len;
	while (len > 0 && is_ready(in->outer, POLLIN)) {
		ssize_t n = read(in->outer, scrap, len < sizeof(scrap) ? len : sizeof(scrap));

		if (n <= 0 && !(n < 0 && errno == EINTR))
			return;
		len -= n > 0 ? (size_t)n : 0;
	}
}

static size_t count_bytes(int pipe)
{
	int n = 0;

	return ioctl(pipe, FIONREAD, &n) < 0 || n < 0 ? 0 : (size_t)n;
}

/* False: some of what was lent is there still. */
static bool settle(struct inlet *in)
{
	size_t unread = count_bytes(in->writer);

	if (in->lent > unread)
		take_out(in, in->lent - unread);
	return unread == 0;
}

void inlet_close(struct inlet *in)
{
	if (in->outer_on)
		loop_remove(in->loop, in->outer);
	if (in->writer_on)
		loop_remove(in->loop, in->writer);
	if (in->loop)
		loop_remove_timer(in->loop, &in->later);
	in->loop = NULL;
	in->outer_on = in->writer_on = false;
	if (in->writer >= 0)
		(void)settle(in);
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

/* A pipe that is full has room once a slot of it was read, and one with a single slot once all
 * of it was. So it is made as small as what it gets, of which there is more each time. */
static void fit(struct inlet *in)
{
	size_t there = count_bytes(in->outer);

	in->slots = in->slots < SLOTS_MAX ? in->slots * 2 : SLOTS_MAX;
	while (in->slots > 1 && in->slots * PAGE > there)
		in->slots /= 2;
	(void)fcntl(in->writer, F_SETPIPE_SZ, (int)in->slots * PAGE);
}

static void lend(struct inlet *in)
{
	ssize_t n;

	fit(in);
	n = tee(in->outer, in->writer, in->slots * PAGE, SPLICE_F_NONBLOCK);
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

/* Who reads a slot reads the next one soon, as a rule. */
static bool await_rest(struct inlet *in)
{
	uint64_t end = clock_mono_ns() + LOOK_US * 1000ull;

	while (!settle(in))
		if (clock_mono_ns() > end)
			return false;
	return true;
}

static void on_writer(void *data, short revents)
{
	struct inlet *in = data;

	if (revents & (POLLERR | POLLHUP | POLLNVAL)) {
		inlet_close(in);
		return;
	}
	if (await_rest(in)) {
		lend(in);
		return;
	}
	/* Nothing tells when a pipe of several slots is empty. */
	loop_set_events(in->loop, in->writer, 0);
	in->later_ms = LATER_MS;
	in->later.at_ns = clock_mono_ns() + LATER_MS * 1000000ull;
}

static void on_later(void *data, short revents)
{
	struct inlet *in = data;

	(void)revents;
	if (settle(in)) {
		lend(in);
		return;
	}
	in->later_ms = in->later_ms < LATER_MAX_MS ? in->later_ms * 2 : LATER_MAX_MS;
	in->later.at_ns = clock_mono_ns() + in->later_ms * 1000000ull;
}

void inlet_start(struct inlet *in, struct loop *loop)
{
	if (in->writer < 0)
		return;
	in->loop = loop;
	in->later = (struct loop_timer){.at_ns = LOOP_NEVER, .fn = on_later, .data = in};
	loop_add_timer(loop, &in->later);
	in->reader = fd_close(in->reader);
	in->writer_on = loop_add(loop, in->writer, 0, on_writer, in) == 0;
	if (in->writer_on)
		lend(in);
	else
		inlet_close(in);
}
