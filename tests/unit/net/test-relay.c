/* SPDX-License-Identifier: MIT */
/* Two pairs of TCP sockets with a relay between: bytes, ends, resets, slow readers, bounds. */
#include "net/relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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
static struct relays *relays;
static struct relay *relay;
static uint64_t left[2], passed[2]; /* received, sent */
static int ended, exceeded, turns;
static int client, server; /* the two ends, of others */

static uint64_t ear_left(void *data, bool sent)
{
	(void)data;
	return left[sent];
}

static void ear_passed(void *data, uint64_t bytes, bool sent)
{
	(void)data;
	passed[sent] += bytes;
	left[sent] -= bytes;
}

static void ear_exceeded(void *data, struct relay *r, bool sent)
{
	(void)data, (void)sent;
	exceeded++;
	relay_reset(relays, r);
}

static void ear_ended(void *data, struct relay *r)
{
	(void)data;
	ended += r == relay && relay_owner(r) == &client;
}

static void make_pair(int *ret_ours, int *ret_theirs)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(l, (void *)&a, len) < 0 || listen(l, 1) < 0 ||
	    getsockname(l, (void *)&a, &len) < 0)
		abort();
	*ret_theirs = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(*ret_theirs, (void *)&a, len) < 0)
		abort();
	*ret_ours = accept4(l, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	close(l);
	(void)fcntl(*ret_theirs, F_SETFL, O_NONBLOCK);
}

static void begin(void)
{
	int inside, outside;

	make_pair(&inside, &client);
	make_pair(&outside, &server);
	memset(passed, 0, sizeof(passed));
	left[0] = left[1] = UINT64_MAX;
	ended = exceeded = 0;
	if (relay_start(relays, inside, outside, &client, &relay) < 0)
		abort();
}

static void stop(void *data, short revents)
{
	(void)revents;
	*(bool *)data = true;
}

/* Turn the loop for MS, or until *UNTIL. */
static void turn(int ms, const int *until)
{
	bool over = false;
	struct loop_timer timer = {.fn = stop, .data = &over};

	timer.at_ns = clock_mono_ns() + (uint64_t)ms * 1000000;
	loop_add_timer(&loop, &timer);
	for (turns = 0; !over && !(until && *until); turns++)
		loop_turn(&loop);
	loop_remove_timer(&loop, &timer);
}

static ssize_t get(int fd, void *buf, size_t size)
{
	ssize_t n = -1;

	for (int i = 0; i < 100; i++) {
		n = recv(fd, buf, size, 0);
		if (n >= 0 || errno != EAGAIN)
			break;
		turn(10, NULL);
	}
	return n;
}

static void close_ends(void)
{
	close(client);
	close(server);
}

static void test_words(void)
{
	char buf[64];

	begin();
	send(client, "hello", 5, 0);
	tap_ok(get(server, buf, sizeof(buf)) == 5 && memcmp(buf, "hello", 5) == 0, "a word out");
	send(server, "hi", 2, 0);
	tap_ok(get(client, buf, sizeof(buf)) == 2 && memcmp(buf, "hi", 2) == 0, "a word back");
	shutdown(client, SHUT_WR);
	tap_eq_int(get(server, buf, sizeof(buf)), 0, "the end of one direction is passed on");
	send(server, "late", 4, 0);
	tap_eq_int(get(client, buf, sizeof(buf)), 4, "the other direction goes on");
	tap_eq_int(ended, 0, "half of it is no end");
	close(server);
	server = -1;
	tap_eq_int(get(client, buf, sizeof(buf)), 0, "the end of the other as well");
	turn(1000, &ended);
	tap_eq_int(ended, 1, "then it has ended");
	tap_ok(passed[1] == 5 && passed[0] == 6, "bytes are counted each way");
	close_ends();
}

static void test_reset(void)
{
	char buf[64];

	begin();
	send(server, "answer", 6, 0);
	turn(50, NULL);
	send(server, "more", 4, 0);
	socket_reset(server);
	server = -1;
	turn(1000, &ended);
	tap_eq_int(ended, 1, "a reset ends both");
	tap_eq_int(get(client, buf, sizeof(buf)), 10, "what came before it arrives");
	tap_ok(get(client, buf, sizeof(buf)) < 0 && errno == ECONNRESET, "and then the reset");
	close_ends();
	begin();
	socket_reset(client);
	client = -1;
	turn(1000, &ended);
	tap_ok(get(server, buf, sizeof(buf)) < 0 && errno == ECONNRESET, "from inside, too");
	close_ends();
	begin();
	close(server);
	server = -1;
	turn(50, NULL);
	send(client, "x", 1, 0);
	turn(1000, &ended);
	tap_eq_int(ended, 1, "who writes to nobody is reset, and we live");
	close_ends();
}

static size_t pour(int fd, size_t most)
{
	static char block[65536];
	size_t sum = 0;

	while (sum < most) {
		ssize_t n = send(fd, block, sizeof(block), MSG_NOSIGNAL);

		if (n > 0)
			sum += (size_t)n;
		else
			turn(20, NULL);
		if (n < 0 && turns <= 1)
			break; /* nothing stirs any more */
	}
	return sum;
}

static void test_slow_reader(void)
{
	static char block[65536];
	size_t sum, got = 0;
	ssize_t n;

	begin();
	sum = pour(client, 256 << 20);
	tap_ok(sum < 64 << 20, "a reader that does not read stops the writer (%zu KiB)", sum >> 10);
	turn(700, NULL); /* windows are probed, and grow */
	turn(200, NULL);
	tap_ok(turns <= 5, "and costs no turns (%d)", turns);
	while (got < sum && (n = get(server, block, sizeof(block))) > 0)
		got += (size_t)n;
	tap_ok(got == sum, "nothing is lost: %zu of %zu", got, sum);
	close_ends();
	turn(1000, &ended);
}

static void test_limit(void)
{
	char buf[64];
	ssize_t n;

	begin();
	left[1] = 10;
	send(client, "0123456789", 10, 0);
	tap_eq_int(get(server, buf, sizeof(buf)), 10, "all that may pass does");
	turn(50, NULL);
	tap_ok(exceeded == 0, "exactly that is no excess");
	send(client, "x", 1, 0);
	turn(1000, &exceeded);
	tap_eq_int(exceeded, 1, "one more is");
	n = get(server, buf, sizeof(buf));
	tap_ok(n < 0 && errno == ECONNRESET, "and it does not arrive");
	close_ends();
	begin();
	left[1] = 3;
	send(client, "123", 3, 0);
	tap_eq_int(get(server, buf, sizeof(buf)), 3, "again all that may pass");
	shutdown(client, SHUT_WR);
	tap_ok(get(server, buf, sizeof(buf)) == 0 && !exceeded, "an end is no excess either");
	close_ends();
	turn(1000, &ended);
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_descriptors(void)
{
	int before = count_fds(), ends[40][2];

	for (int i = 0; i < 40; i++) {
		begin();
		ends[i][0] = client;
		ends[i][1] = server;
		send(client, "x", 1, 0);
	}
	turn(50, NULL);
	tap_ok(count_fds() <= before + 40 * 4, "who is idle holds no pipe");
	relays = relays_free(relays);
	for (int i = 0; i < 40; i++) {
		close(ends[i][0]);
		close(ends[i][1]);
	}
	tap_ok(count_fds() <= before, "relays_free() leaves nothing open");
}

int main(void)
{
	struct relay_ear ear = {ear_left, ear_passed, ear_exceeded, ear_ended};
	struct err err;

	signal(SIGPIPE, SIG_IGN);
	if (poller_new(&loop, &poller, &err) < 0 || relays_new(poller, &ear, NULL, &relays) < 0)
		abort();
	test_words();
	test_reset();
	test_slow_reader();
	test_limit();
	test_descriptors();
	poller_free(poller);
	loop_release(&loop);
	return tap_done();
}
