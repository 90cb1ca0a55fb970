/* SPDX-License-Identifier: MIT */
/* The first of several addresses that answers; on this machine, and at once. */
#include "net/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "net/poller.h"
#include "tests/tap.h"

static struct loop loop;
static struct poller *poller;
static struct dials *dials;
static int result, called;
static struct endpoint reached;

static void on_dial(void *data, int fd, const struct endpoint *to)
{
	(void)data;
	called++;
	result = fd;
	reached = *to;
}

static struct in6_addr v4(const char *text)
{
	struct in6_addr a = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	if (inet_pton(AF_INET, text, &a.s6_addr[12]) != 1)
		abort();
	return a;
}

static int listener(int backlog, uint16_t *ret_port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (void *)&a, len) < 0 || listen(fd, backlog) < 0 ||
	    getsockname(fd, (void *)&a, &len) < 0)
		abort();
	*ret_port = ntohs(a.sin_port);
	return fd;
}

static void wait_called(void)
{
	uint64_t end = clock_mono_ns() + 3000000000ull;

	while (!called && clock_mono_ns() < end)
		loop_turn(&loop);
}

int main(void)
{
	struct in6_addr list[2] = {v4("127.0.0.2"), v4("127.0.0.1")};
	uint16_t port, full_port;
	int fd = listener(8, &port), full = listener(0, &full_port), fill[8];
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct dial *dial = (struct dial *)&a;
	struct err err;
	uint64_t begin;

	if (poller_new(&loop, &poller, &err) < 0 || dials_new(poller, &dials) < 0)
		abort();
	tap_eq_int(dial_start(dials, &list[1], 1, port, on_dial, NULL, &dial), 0, "a dial");
	tap_ok(called == 1 && result >= 0 && !dial, "the loopback answers at once");
	close(result);
	called = 0;
	(void)dial_start(dials, list, 1, port, on_dial, NULL, &dial);
	tap_ok(called == 1 && result == -ECONNREFUSED && !dial, "so does a refusal");
	called = 0;
	(void)dial_start(dials, list, 2, port, on_dial, NULL, &dial);
	tap_ok(called == 1 && result >= 0 && memcmp(&reached.address, &list[1], 16) == 0,
	       "the next address is tried when one fails, and told");
	close(result);
	tap_ok(dial_start(dials, list, 0, port, on_dial, NULL, &dial) < 0 && !dial,
	       "no address is an error");

	/* A listener whose queue is full does not answer. */
	a.sin_port = htons(full_port);
	for (int i = 0; i < 8; i++) {
		fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(fill[i], (void *)&a, sizeof(a));
	}
	called = 0;
	begin = clock_mono_ns();
	(void)dial_start(dials, &list[1], 1, full_port, on_dial, NULL, &dial);
	tap_ok(called == 0 && dial, "one that does not answer is waited for");
	while (clock_mono_ns() - begin < 200000000)
		loop_turn(&loop);
	tap_ok(called == 0 && dial, "and waited for");
	dial_cancel(dials, dial);
	(void)dial_start(dials, &list[1], 1, full_port, on_dial, NULL, &dial);
	close(full);
	wait_called();
	tap_ok(called == 1 && result < 0 && !dial, "it fails later: %s", strerror(-result));
	(void)dial_start(dials, &list[1], 1, port, on_dial, NULL, &dial);
	close(result);
	dials_free(dials);
	poller_free(poller);
	loop_release(&loop);
	for (int i = 0; i < 8; i++)
		close(fill[i]);
	close(fd);
	return tap_done();
}
