/* SPDX-License-Identifier: MIT */
#include "warden/protocol.h"

#include <errno.h>
#include <stddef.h>
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

int warden_receive_report(int channel, struct warden_report *ret)
{
	ssize_t n = recv(channel, ret, sizeof(*ret), MSG_TRUNC);

	/* Said once when the warden left orders unread; its reports come after. */
	if (n < 0 && errno == ECONNRESET)
		n = recv(channel, ret, sizeof(*ret), MSG_TRUNC);
	if (n < 0)
		return -errno;
	if (n == 0)
		return -EPIPE;
	if (ret->kind > WARDEN_EXITED ||
	    (size_t)n != (ret->kind == WARDEN_FAILED ? sizeof(*ret) : HEAD_SIZE))
		return -EBADMSG;
	return 0;
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
