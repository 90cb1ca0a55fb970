/* SPDX-License-Identifier: MIT */
#include "session/session-proto.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(SESSION_FDS_MAX * sizeof(int))];
};

static int put_in_file(const struct str *body)
{
	_cleanup_(fd_closep) int fd = memfd_create("pale-session", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = fd < 0 ? -errno : fd_write_all(fd, body->data, body->len);

	if (r < 0)
		return r;
	return fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) < 0 ? -errno : take_fd(fd);
}

static int send_packet(int sock, struct iovec *iov, size_t n_iov, const int *fds, size_t n_fds,
		       int how)
{
	union control control = {0};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = n_iov};
	ssize_t n;

	if (n_fds > 0) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, n_fds * sizeof(int));
	}
	do
		n = sendmsg(sock, &msg, how | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int session_send(int sock, enum session_kind kind, uint32_t flags, const struct str *body,
		 const int *fds, size_t n_fds, int how)
{
	struct session_head head = {.magic = SESSION_MAGIC,
				    .version = SESSION_VERSION,
				    .kind = (uint16_t)kind,
				    .flags = flags,
				    .len = body ? (uint32_t)body->len : 0};
	struct iovec iov[2] = {{.iov_base = &head, .iov_len = sizeof(head)}};
	_cleanup_(fd_closep) int file = -1;
	int all[SESSION_FDS_MAX];

	if (n_fds >= SESSION_FDS_MAX || (body && body->len > SESSION_BODY_MAX))
		return -E2BIG;
	if (n_fds > 0)
		memcpy(all, fds, n_fds * sizeof(int));
	if (body && body->len > SESSION_INLINE_MAX) {
		file = put_in_file(body);
		if (file < 0)
			return file;
		all[n_fds++] = file;
		head.flags |= SESSION_HAS_FD;
	} else if (body && body->len > 0) {
		iov[1] = (struct iovec){.iov_base = body->data, .iov_len = body->len};
	}
	return send_packet(sock, iov, iov[1].iov_len > 0 ? 2 : 1, all, n_fds, how);
}

static void take_fds(struct msghdr *msg, struct session_message *ret)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fd;

		for (size_t i = 0;
		     c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (ret->n_fds < SESSION_FDS_MAX)
				ret->fds[ret->n_fds++] = fd;
			else
				fd_close(fd);
		}
	}
}

/* Sealed, so that what was checked is what is read. */
static int map_body(struct session_message *m)
{
	_cleanup_(fd_closep) int fd = m->n_fds > 0 ? m->fds[--m->n_fds] : -1;
	int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS); /* -1 of what can have none */
	struct stat st;
	void *at;

	if (fd < 0 || m->head.len > SESSION_BODY_MAX || m->head.len == 0)
		return -EBADMSG;
	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0 ||
	    st.st_size != (off_t)m->head.len)
		return -EBADMSG;
	at = mmap(NULL, m->head.len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (at == MAP_FAILED)
		return -EBADMSG;
	m->mapped = at;
	m->body = at;
	return 0;
}

static int check(struct session_message *m, size_t got, int flags)
{
	if (flags & (MSG_TRUNC | MSG_CTRUNC) || got < sizeof(m->head) ||
	    m->head.magic != SESSION_MAGIC || m->head.version != SESSION_VERSION)
		return -EBADMSG;
	if (m->head.flags & SESSION_HAS_FD)
		return got == sizeof(m->head) ? map_body(m) : -EBADMSG;
	return got - sizeof(m->head) == m->head.len ? 0 : -EBADMSG;
}

int session_receive(int sock, struct session_buffer *buffer, struct session_message *ret, int how)
{
	struct session_message m = {.body = buffer->body};
	struct iovec iov = {.iov_base = buffer, .iov_len = sizeof(*buffer)};
	union control control;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(sock, &msg, how | MSG_CMSG_CLOEXEC);
	int r;

	if (n < 0)
		return -errno;
	take_fds(&msg, &m);
	m.head = buffer->head;
	r = n == 0 ? -EPIPE : check(&m, (size_t)n, msg.msg_flags);
	if (r < 0) {
		m.head.len = 0;
		session_message_release(&m, buffer);
		return r;
	}
	*ret = m;
	return 0;
}

void session_message_release(struct session_message *m, struct session_buffer *buffer)
{
	for (size_t i = 0; i < m->n_fds; i++)
		fd_close(m->fds[i]);
	if (m->mapped)
		(void)munmap(m->mapped, m->head.len);
	else if (m->body == buffer->body)
		explicit_bzero(buffer->body, m->head.len);
	*m = (struct session_message){0};
}

bool session_take(struct session_cursor *c, void *ret, size_t size)
{
	if ((size_t)(c->end - c->at) < size)
		return false;
	memcpy(ret, c->at, size);
	c->at += size;
	return true;
}

const char *session_take_string(struct session_cursor *c)
{
	const char *text = c->at;
	const char *nul = c->at < c->end ? memchr(c->at, '\0', (size_t)(c->end - c->at)) : NULL;

	if (!nul)
		return NULL;
	c->at = nul + 1;
	return text;
}

bool session_take_end(const struct session_cursor *c)
{
	return c->at == c->end;
}

char **session_take_strings(struct session_cursor *c, uint32_t n)
{
	char **list;

	if (n > SESSION_ARGS_MAX || n > (size_t)(c->end - c->at))
		return NULL;
	list = calloc((size_t)n + 1, sizeof(*list));
	for (uint32_t i = 0; list && i < n; i++) {
		list[i] = (char *)session_take_string(c);
		if (!list[i]) {
			free(list);
			return NULL;
		}
	}
	return list;
}

int session_put_string(struct str *body, const char *text)
{
	return str_append_bytes(body, text ? text : "", (text ? strlen(text) : 0) + 1);
}

int session_put_failure(struct str *body, const struct err *err)
{
	const struct session_failure failure = {.code = (uint32_t)err->code, .errnum = err->errnum};
	int r = str_append_bytes(body, &failure, sizeof(failure));

	if (r == 0)
		r = session_put_string(body, err->message);
	return r < 0 ? r : session_put_string(body, err->hint);
}

bool session_take_failure(struct session_cursor *c, struct err *ret)
{
	struct session_failure failure;
	const char *message, *hint;

	if (!session_take(c, &failure, sizeof(failure)) || failure.code > ERR_LAST)
		return false;
	message = session_take_string(c);
	hint = message ? session_take_string(c) : NULL;
	if (!hint)
		return false;
	*ret = (struct err){.code = (enum err_code)failure.code, .errnum = failure.errnum};
	snprintf(ret->message, sizeof(ret->message), "%s", message);
	snprintf(ret->hint, sizeof(ret->hint), "%s", hint);
	return true;
}
