/* SPDX-License-Identifier: MIT */
#include "warden/protocol.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

#define HEAD_SIZE offsetof(struct warden_report, err)

int warden_send_report(int channel, const struct warden_report *report)
{
	size_t size = report->kind == WARDEN_FAILED ? sizeof(*report) : HEAD_SIZE;

	return send(channel, report, size, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

bool warden_has_report(int channel)
{
	char byte;

	return recv(channel, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) > 0;
}

union some_fds {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int) * WARDEN_FDS_MAX)];
};

int warden_send_fds(int channel, enum warden_report_kind kind, uint32_t id, const int *fds,
		    size_t n)
{
	struct warden_report report = {.kind = kind, .id = id, .status = (int)n};
	struct iovec iov = {.iov_base = &report, .iov_len = HEAD_SIZE};
	union some_fds control = {0};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = n > 0 ? &control : NULL,
			     .msg_controllen = n > 0 ? CMSG_SPACE(sizeof(int) * n) : 0};

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int) * n);
	memcpy(CMSG_DATA(&control.head), fds, sizeof(int) * n);
	return sendmsg(channel, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int warden_send_terminal(int channel, uint32_t id, int fd)
{
	return warden_send_fds(channel, WARDEN_TERMINAL, id, &fd, 1);
}

static int check_report(const struct warden_report *report, ssize_t n)
{
	if (n == 0)
		return -EPIPE;
	if (report->kind > WARDEN_SOCKETS ||
	    (size_t)n != (report->kind == WARDEN_FAILED ? sizeof(*report) : HEAD_SIZE))
		return -EBADMSG;
	return 0;
}

/* What a broken report brought is nobody's, nor what is more than its kind has. */
static int check_fds(const struct warden_report *report, ssize_t n, int *fds, size_t *n_fds,
		     size_t max)
{
	int r = check_report(report, n);
	size_t kept = 0;

	if (r == 0)
		kept = report->kind == WARDEN_MOUNTED || report->kind == WARDEN_SOCKETS ? max : 1;
	while (*n_fds > kept)
		fd_close(fds[--*n_fds]);
	return r;
}

int warden_receive_report(int channel, struct warden_report *ret)
{
	ssize_t n = recv(channel, ret, sizeof(*ret), MSG_TRUNC);

	/* Said once when the warden left orders unread; its reports come after. */
	if (n < 0 && errno == ECONNRESET)
		n = recv(channel, ret, sizeof(*ret), MSG_TRUNC);
	return n < 0 ? -errno : check_report(ret, n);
}

/* FDS has room for WARDEN_FDS_MAX; at most MAX of them stay open. */
static int receive(int channel, int flags, struct warden_report *ret, int *fds, size_t *ret_n,
		   size_t max, pid_t *ret_sender)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(struct ucred)) +
			   CMSG_SPACE(sizeof(int) * WARDEN_FDS_MAX)];
	} control;
	struct iovec iov = {.iov_base = ret, .iov_len = sizeof(*ret)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control};
	size_t n_fds = 0;
	ssize_t n = -1;

	errno = ECONNRESET;
	/* Said once when the warden left orders unread; its reports come after. */
	for (int i = 0; i < 2 && n < 0 && errno == ECONNRESET; i++) {
		msg.msg_controllen = sizeof(control);
		n = recvmsg(channel, &msg, MSG_TRUNC | MSG_CMSG_CLOEXEC | flags);
	}
	if (n < 0)
		return -errno;
	*ret_sender = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		size_t len = c->cmsg_len - CMSG_LEN(0);
		struct ucred cred;

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&cred, CMSG_DATA(c), sizeof(cred));
			*ret_sender = cred.pid;
		} else if (c->cmsg_type == SCM_RIGHTS) {
			/* Without credentials there is room for more of them. */
			for (; len > sizeof(int) * WARDEN_FDS_MAX; len -= sizeof(int))
				fd_close(((int *)CMSG_DATA(c))[len / sizeof(int) - 1]);
			n_fds = len / sizeof(int);
			memcpy(fds, CMSG_DATA(c), len);
		}
	}
	*ret_n = n_fds;
	return check_fds(ret, n, fds, ret_n, max);
}

int warden_receive_fds(int channel, struct warden_report *ret, int *ret_fds, size_t *n_fds)
{
	int fds[WARDEN_FDS_MAX], r;
	size_t n = 0;
	pid_t sender;

	r = receive(channel, 0, ret, fds, &n, *n_fds, &sender);
	memcpy(ret_fds, fds, sizeof(int) * n);
	*n_fds = n;
	return r;
}

int warden_receive_terminal(int channel, struct warden_report *ret, int *ret_fd)
{
	size_t n = 1;

	*ret_fd = -1;
	return warden_receive_fds(channel, ret, ret_fd, &n);
}

int warden_expect_senders(int channel)
{
	int on = 1;

	return setsockopt(channel, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ? -errno : 0;
}

int warden_receive_now(int channel, struct warden_report *ret, int ret_fds[WARDEN_FDS_MAX],
		       size_t *ret_n, pid_t *ret_sender)
{
	return receive(channel, MSG_DONTWAIT, ret, ret_fds, ret_n, WARDEN_FDS_MAX, ret_sender);
}

int warden_send_order(int channel, enum warden_order_kind kind, int value)
{
	struct warden_order order = {.kind = kind, .value = value};

	return send(channel, &order, sizeof(order), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int warden_receive_order(int channel, struct warden_order *ret)
{
	ssize_t n = recv(channel, ret, sizeof(*ret), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (n == 0)
		return -EPIPE;
	return n == sizeof(*ret) ? 0 : -EBADMSG;
}
