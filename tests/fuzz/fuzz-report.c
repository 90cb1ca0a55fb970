/* SPDX-License-Identifier: MIT */
/* Whatever comes through the channel of a supervisor: a report is whole or none, what came
 * along is told in number, and nothing is left open. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "warden/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void send_bytes(int to, const uint8_t *data, size_t size, size_t n_fds)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int) * 128)];
	} control = {0};
	struct iovec iov = {(void *)data, size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	int fds[128];

	for (size_t i = 0; i < n_fds; i++)
		fds[i] = to;
	if (n_fds > 0) {
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(&control.head), fds, sizeof(int) * n_fds);
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
	}
	if (sendmsg(to, &msg, MSG_NOSIGNAL) < 0)
		abort();
}

static void check(const struct warden_report *report, int r, const int *fds, size_t n, size_t max)
{
	bool has_many = report->kind == WARDEN_MOUNTED || report->kind == WARDEN_SOCKETS;

	if (n > max || (r < 0 && n > 0) || (r == 0 && !has_many && n > 1))
		abort();
	if (r == 0 && report->kind > WARDEN_SOCKETS)
		abort();
	for (size_t i = 0; i < n; i++)
		if (close(fds[i]) < 0)
			abort();
}

/* The first byte: how many descriptors; the second: who receives, how many are expected. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct warden_report report;
	int pair[2], fds[WARDEN_FDS_MAX], r, after;
	size_t n = WARDEN_FDS_MAX, max = WARDEN_FDS_MAX;
	pid_t sender;

	if (size < 3 || size > 4096)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	if (data[1] & 1)
		(void)warden_expect_senders(pair[1]);
	send_bytes(pair[0], data + 2, size - 2, data[0] & 127);
	if (data[1] & 2) {
		r = warden_receive_now(pair[1], &report, fds, &n, &sender);
	} else {
		n = max = data[1] & 4 ? 1 : WARDEN_FDS_MAX;
		r = warden_receive_fds(pair[1], &report, fds, &n);
	}
	check(&report, r, fds, r == -EAGAIN ? 0 : n, max);
	close(pair[0]);
	close(pair[1]);
	after = dup(0);
	if (after > 64) /* nothing is left open */
		abort();
	close(after);
	return 0;
}
