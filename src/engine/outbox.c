/* SPDX-License-Identifier: MIT */
#include "engine/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "warden/errand.h"

enum { PARTS_MAX = 2 };

struct letter {
	struct letter *next;
	int fds[ERRAND_FDS_MAX]; /* copies */
	size_t n_fds;
	size_t size;
	char bytes[];
};

static int send_parts(int channel, const struct iovec *parts, size_t n_parts, const int *fds,
		      size_t n_fds)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int) * ERRAND_FDS_MAX)];
	} control;
	struct iovec iov[PARTS_MAX];
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = n_parts};

	memcpy(iov, parts, sizeof(*iov) * n_parts);
	if (n_fds > 0) {
		memset(&control, 0, sizeof(control));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(&control.head), fds, sizeof(int) * n_fds);
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
	}
	return sendmsg(channel, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static void letter_free(struct letter *letter)
{
	for (size_t i = 0; i < letter->n_fds; i++)
		fd_close(letter->fds[i]);
	free(letter);
}

static struct letter *copy(const struct iovec *parts, size_t n_parts, const int *fds, size_t n_fds)
{
	struct letter *letter;
	size_t size = 0;
	char *at;

	for (size_t i = 0; i < n_parts; i++)
		size += parts[i].iov_len;
	letter = calloc(1, sizeof(*letter) + size);
	if (!letter)
		return NULL;
	at = letter->bytes;
	for (size_t i = 0; i < n_parts; i++)
		at = mempcpy(at, parts[i].iov_base, parts[i].iov_len);
	letter->size = size;
	for (; letter->n_fds < n_fds; letter->n_fds++) {
		int fd = fcntl(fds[letter->n_fds], F_DUPFD_CLOEXEC, 3);

		if (fd < 0) {
			letter_free(letter);
			return NULL;
		}
		letter->fds[letter->n_fds] = fd;
	}
	return letter;
}

int outbox_send(struct outbox *box, int channel, const struct iovec *parts, size_t n_parts,
		const int *fds, size_t n_fds)
{
	struct letter *letter;
	int r;

	if (n_parts > PARTS_MAX || n_fds > ERRAND_FDS_MAX)
		BUG("an order of another kind");
	r = box->first ? -EAGAIN : send_parts(channel, parts, n_parts, fds, n_fds);
	/* Descriptors on their way are counted, too: -ETOOMANYREFS. */
	if (r != -EAGAIN && r != -ENOBUFS && r != -ETOOMANYREFS)
		return r;
	letter = copy(parts, n_parts, fds, n_fds);
	if (!letter)
		return -ENOMEM;
	if (box->last)
		box->last->next = letter;
	else
		box->first = letter;
	box->last = letter;
	return 1;
}

bool outbox_flush(struct outbox *box, int channel)
{
	while (box->first) {
		struct letter *letter = box->first;
		struct iovec iov = {letter->bytes, letter->size};
		int r = send_parts(channel, &iov, 1, letter->fds, letter->n_fds);

		if (r == -EAGAIN || r == -ENOBUFS || r == -ETOOMANYREFS)
			return false;
		/* Any other failure means that nobody is there: the end is told of. */
		box->first = letter->next;
		if (!box->first)
			box->last = NULL;
		letter_free(letter);
	}
	return true;
}

void outbox_release(struct outbox *box)
{
	while (box->first) {
		struct letter *letter = box->first;

		box->first = letter->next;
		letter_free(letter);
	}
	box->last = NULL;
}
