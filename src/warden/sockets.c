/* SPDX-License-Identifier: MIT */
#include "warden/sockets.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/fd.h"
#include "warden/protocol.h"

enum { MARK_TAKEN = 'n' };

/* From birth it makes nobody wait: the supervisor least of all. */
static int make_one(void)
{
	const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
	int fd = socket(AF_INET6, type, 0);

	return fd < 0 && errno == EAFNOSUPPORT ? socket(AF_INET, type, 0) : fd;
}

size_t sockets_make(int fds[SOCKETS_BATCH])
{
	size_t len = 0;

	while (len < SOCKETS_BATCH) {
		fds[len] = make_one();
		if (fds[len] < 0)
			break;
		len++;
	}
	return len;
}

int sockets_send(int channel, const int *fds, size_t len)
{
	int r = warden_send_fds(channel, WARDEN_SOCKETS, 0, fds, len);

	while (len > 0)
		fd_close(fds[--len]);
	return r;
}

int sockets_send_more(int channel)
{
	int fds[SOCKETS_BATCH];

	return sockets_send(channel, fds, sockets_make(fds));
}

int sockets_wait_taken(int channel, struct err *err)
{
	char mark;
	ssize_t n;

	do
		n = recv(channel, &mark, 1, 0);
	while (n < 0 && errno == EINTR);
	if (n != 1 || mark != MARK_TAKEN)
		return err_set(err, ERR_SYSTEM, -EPIPE, "nobody took the sandbox's sockets");
	return 0;
}

int sockets_begin(int channel, struct err *err)
{
	int fds[SOCKETS_BATCH], r;
	size_t len = sockets_make(fds);

	r = sockets_send(channel, fds, len);
	if (r < 0 || len < SOCKETS_BATCH)
		return err_sys(err, r < 0 ? r : -EMFILE, "hand the sandbox's sockets over");
	return sockets_wait_taken(channel, err);
}

int sockets_taken(int channel)
{
	char mark = MARK_TAKEN;

	return send(channel, &mark, 1, MSG_NOSIGNAL) < 0 ? -errno : 0;
}
