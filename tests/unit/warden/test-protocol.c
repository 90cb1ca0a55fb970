/* SPDX-License-Identifier: MIT */
#include "warden/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"
#include "warden/sockets.h"

static int ends[2];

static void begin(void)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
}

static void end(void)
{
	close(ends[0]);
	if (ends[1] >= 0)
		close(ends[1]);
}

static void test_reports(void)
{
	struct warden_report report = {.kind = WARDEN_EXITED, .status = 0x1234}, got;

	begin();
	warden_send_report(ends[0], &report);
	report = (struct warden_report){.kind = WARDEN_FAILED};
	err_set(&report.err, ERR_NOT_FOUND, -ENOENT, "no such program");
	err_hint(&report.err, -ENOENT, "install it");
	warden_send_report(ends[0], &report);

	tap_eq_int(warden_receive_report(ends[1], &got), 0, "EXITED");
	tap_ok(got.kind == WARDEN_EXITED && got.status == 0x1234, "with the status");
	tap_eq_int(warden_receive_report(ends[1], &got), 0, "FAILED");
	tap_ok(got.kind == WARDEN_FAILED && got.err.code == ERR_NOT_FOUND &&
		       got.err.errnum == ENOENT,
	       "with code and errno");
	tap_eq_str(got.err.message, "no such program", "with the message");
	tap_eq_str(got.err.hint, "install it", "with the hint");
	end();
}

static void test_orders(void)
{
	struct warden_order order;

	begin();
	tap_eq_int(warden_receive_order(ends[1], &order), -EAGAIN, "no order: no waiting");
	tap_eq_int(warden_send_order(ends[0], WARDEN_SIGNAL, 15), 0, "an order");
	tap_eq_int(warden_send_order(ends[0], WARDEN_SIGNAL_ALL, 9), 0, "another one");
	tap_eq_int(warden_receive_order(ends[1], &order), 0, "arrives");
	tap_ok(order.kind == WARDEN_SIGNAL && order.value == 15, "as it was");
	tap_eq_int(warden_receive_order(ends[1], &order), 0, "the next");
	tap_ok(order.kind == WARDEN_SIGNAL_ALL && order.value == 9, "after it");
	end();
}

static void test_hang_up(void)
{
	struct warden_report report = {.kind = WARDEN_EXITED};
	struct warden_order order;

	begin();
	warden_send_report(ends[1], &report);
	close(ends[1]);
	ends[1] = -1;
	tap_eq_int(warden_receive_report(ends[0], &report), 0, "what was sent before a hang-up");
	tap_eq_int(warden_receive_report(ends[0], &report), -EPIPE, "then the hang-up");
	tap_eq_int(warden_receive_order(ends[0], &order), -EPIPE, "for orders as well");
	tap_eq_int(warden_send_order(ends[0], WARDEN_SIGNAL, 1), -EPIPE, "sending kills nobody");
	warden_send_report(ends[0], &report);
	tap_ok(true, "neither does reporting");
	end();
}

/* The kernel says ECONNRESET, once, when an end is closed with data unread. */
static void test_unread_orders(void)
{
	struct warden_report report = {.kind = WARDEN_EXITED, .status = 0x0700}, got = {0};

	begin();
	for (int i = 0; i < 3; i++)
		warden_send_order(ends[0], WARDEN_SIGNAL, 10);
	warden_send_report(ends[1], &report);
	close(ends[1]);
	ends[1] = -1;
	tap_eq_int(warden_receive_report(ends[0], &got), 0, "a report in spite of unread orders");
	tap_ok(got.kind == WARDEN_EXITED && got.status == 0x0700, "as it was sent");
	tap_eq_int(warden_receive_report(ends[0], &got), -EPIPE, "then the hang-up");
	end();

	begin();
	warden_send_order(ends[0], WARDEN_SIGNAL, 10);
	close(ends[1]);
	ends[1] = -1;
	tap_eq_int(warden_receive_report(ends[0], &got), -EPIPE,
		   "without a report unread orders are a hang-up");
	end();
}

static void send_bytes(const void *bytes, size_t len)
{
	if (send(ends[0], bytes, len, 0) != (ssize_t)len)
		abort();
}

static void test_garbage(void)
{
	struct warden_report report = {.kind = WARDEN_SOCKETS + 1}, got;
	struct warden_order order = {.kind = WARDEN_SIGNAL};

	begin();
	send_bytes(&report, offsetof(struct warden_report, err));
	tap_eq_int(warden_receive_report(ends[1], &got), -EBADMSG, "an unknown kind of report");
	report.kind = WARDEN_EXITED;
	send_bytes(&report, sizeof(report.kind));
	tap_eq_int(warden_receive_report(ends[1], &got), -EBADMSG, "a short report");
	send_bytes(&report, sizeof(report));
	tap_eq_int(warden_receive_report(ends[1], &got), -EBADMSG, "a long one");
	report.kind = WARDEN_FAILED;
	send_bytes(&report, offsetof(struct warden_report, err));
	tap_eq_int(warden_receive_report(ends[1], &got), -EBADMSG, "FAILED without a reason");
	send_bytes(&order, sizeof(order.kind));
	tap_eq_int(warden_receive_order(ends[1], &order), -EBADMSG, "a short order");
	tap_eq_int(warden_receive_order(-1, &order), -EBADF, "no channel");
	end();
}

static void test_terminal(void)
{
	struct warden_report report = {.kind = WARDEN_EXITED}, got = {0};
	int pair[2], fd = -2;
	char byte = 0;

	begin();
	if (pipe(pair) < 0)
		abort();
	tap_eq_int(warden_send_terminal(ends[0], 7, pair[1]), 0, "a terminal is sent");
	tap_eq_int(warden_receive_terminal(ends[1], &got, &fd), 0, "and received");
	tap_ok(got.kind == WARDEN_TERMINAL && fd >= 0 && fd != pair[1], "with a descriptor");
	tap_ok(fcntl(fd, F_GETFD) & FD_CLOEXEC, "which is close-on-exec");
	tap_ok(write(fd, "x", 1) == 1 && read(pair[0], &byte, 1) == 1 && byte == 'x',
	       "and leads to the same file");
	close(fd);
	warden_send_report(ends[0], &report);
	tap_eq_int(warden_receive_terminal(ends[1], &got, &fd), 0,
		   "another report comes the same way");
	tap_ok(got.kind == WARDEN_EXITED && fd == -1, "without a descriptor");
	warden_send_terminal(ends[0], 7, pair[1]);
	tap_eq_int(warden_receive_report(ends[1], &got), 0, "who wants no descriptor gets none");
	close(pair[0]);
	close(pair[1]);
	end();
}

static int count_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void close_all(int *fds, size_t n)
{
	while (n > 0)
		close(fds[--n]);
}

static void test_many_fds(void)
{
	int many[WARDEN_FDS_MAX], fds[WARDEN_FDS_MAX], before = count_open();
	struct warden_report got = {0};
	size_t n = WARDEN_FDS_MAX;
	pid_t sender;

	begin();
	for (size_t i = 0; i < n; i++)
		many[i] = ends[0];
	warden_expect_senders(ends[1]);
	tap_eq_int(warden_send_fds(ends[0], WARDEN_SOCKETS, 0, many, n), 0, "as many as can be");
	tap_eq_int(warden_receive_now(ends[1], &got, fds, &n, &sender), 0, "arrive");
	tap_ok(got.kind == WARDEN_SOCKETS && n == WARDEN_FDS_MAX && got.status == (int)n &&
		       sender == getpid(),
	       "all of them, with their number and who sent them");
	close_all(fds, n);
	warden_send_fds(ends[0], WARDEN_SOCKETS, 0, many, 35);
	n = WARDEN_FDS_MAX;
	tap_ok(warden_receive_fds(ends[1], &got, fds, &n) == 0 && n == 35 && got.status == 35,
	       "the same for who waits");
	close_all(fds, n);
	warden_send_fds(ends[0], WARDEN_SOCKETS, 0, many, 0);
	tap_ok(warden_receive_now(ends[1], &got, fds, &n, &sender) == 0 && n == 0 &&
		       got.kind == WARDEN_SOCKETS && got.status == 0,
	       "none at all can be said, too");
	warden_send_fds(ends[0], WARDEN_LISTENER, 1, many, 3);
	tap_ok(warden_receive_now(ends[1], &got, fds, &n, &sender) == 0 && n == 1,
	       "another kind of report brings one");
	close_all(fds, n);
	warden_send_fds(ends[0], WARDEN_SOCKETS + 1, 0, many, 5);
	tap_ok(warden_receive_now(ends[1], &got, fds, &n, &sender) == -EBADMSG && n == 0,
	       "one that is unknown brings none");
	tap_eq_int(warden_receive_now(ends[1], &got, fds, &n, &sender), -EAGAIN,
		   "and that was all");
	end();
	tap_eq_int(count_open(), before, "nothing is left open");
}

static void test_sockets(void)
{
	int fds[WARDEN_FDS_MAX], before = count_open(), on = 0;
	struct warden_report got = {0};
	size_t n = WARDEN_FDS_MAX;
	socklen_t size = sizeof(on);
	struct err err = {0};

	begin();
	tap_eq_int(sockets_send_more(ends[0]), 0, "a batch of sockets");
	tap_ok(warden_receive_fds(ends[1], &got, fds, &n) == 0 && n == SOCKETS_BATCH,
	       "arrives in full");
	tap_ok(n > 0 && getsockopt(fds[0], SOL_SOCKET, SO_TYPE, &on, &size) == 0 &&
		       on == SOCK_STREAM && fcntl(fds[0], F_GETFL) & O_NONBLOCK &&
		       fcntl(fds[0], F_GETFD) & FD_CLOEXEC,
	       "streams that make nobody wait, closed on exec");
	close_all(fds, n);
	tap_eq_int(sockets_taken(ends[1]), 0, "they were taken");
	tap_eq_int(sockets_wait_taken(ends[0], &err), 0, "which is heard of");
	tap_eq_int(warden_send_order(ends[1], WARDEN_MORE_SOCKETS, 0), 0, "an order");
	tap_eq_int(sockets_wait_taken(ends[0], &err), -EPIPE, "is no such word");
	close(ends[1]);
	ends[1] = -1;
	tap_eq_int(sockets_wait_taken(ends[0], &err), -EPIPE, "nor is a hang-up");
	tap_eq_int(sockets_send_more(ends[0]), -EPIPE, "to which nothing is sent");
	end();
	tap_eq_int(count_open(), before, "nothing is left open");
}

int main(void)
{
	test_terminal();
	test_many_fds();
	test_sockets();
	test_reports();
	test_orders();
	test_hang_up();
	test_unread_orders();
	test_garbage();
	return tap_done();
}
