/* SPDX-License-Identifier: MIT */
#include "warden/protocol.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

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

union one_fd {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int warden_send_terminal(int channel, int fd)
{
	struct warden_report report = {.kind = WARDEN_TERMINAL};
	struct iovec iov = {.iov_base = &report, .iov_len = HEAD_SIZE};
	union one_fd control = {0};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(channel, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int check_report(const struct warden_report *report, ssize_t n)
{
	if (n == 0)
		return -EPIPE;
	if (report->kind > WARDEN_STOPPED ||
	    (size_t)n != (report->kind == WARDEN_FAILED ? sizeof(*report) : HEAD_SIZE))
		return -EBADMSG;
	return 0;
}

int warden_receive_report(int channel, struct warden_report *ret)
{
	ssize_t n = recv(channel, ret, sizeof(*ret), MSG_TRUNC);

	/* Said once when the warden left orders unread; its reports come after. */
	if (n < 0 && errno == ECONNRESET)
		n = recv(channel, ret, sizeof(*ret), MSG_TRUNC);
	return n < 0 ? -errno : check_report(ret, n);
}

int warden_receive_terminal(int channel, struct warden_report *ret, int *ret_fd)
{
	struct iovec iov = {.iov_base = ret, .iov_len = sizeof(*ret)};
	union one_fd control;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *cmsg;
	ssize_t n = recvmsg(channel, &msg, MSG_TRUNC | MSG_CMSG_CLOEXEC);

	if (n < 0 && errno == ECONNRESET)
		n = recvmsg(channel, &msg, MSG_TRUNC | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	*ret_fd = -1;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(cmsg), sizeof(*ret_fd));
	return check_report(ret, n);
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
