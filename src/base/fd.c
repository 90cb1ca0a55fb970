/* SPDX-License-Identifier: MIT */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/sys.h"

int fd_close(int fd)
{
	int saved = errno;

	/* Linux frees the descriptor even on EINTR: never retry. */
	if (fd >= 0)
		close(fd);
	errno = saved;
	return -1;
}

int fd_open(const char *path, int flags)
{
	return openat(AT_FDCWD, path, flags | O_CLOEXEC);
}

/* A socket that holds itself is garbage once it is closed, with all that it holds.
 * Linux 6.10 and newer collect it in the background. */
int fd_close_later(int fd)
{
	char byte = 0;
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = {0};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	int pair[2];

	if (fd < 0 || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fd_close(fd);
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(&control.head), (int[]){fd, pair[1]}, 2 * sizeof(int));
	(void)sendmsg(pair[0], &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	fd_close(fd);
	fd_close(pair[1]);
	return fd_close(pair[0]);
}

int fd_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Most files are small: memory is touched only as far as it is used. */
enum { READ_MIN = 4000, READ_MAX = 64 * 1024 };

int fd_read_all(int fd, size_t max, struct str *ret_text)
{
	_cleanup_(str_release) struct str text = {0};

	for (;;) {
		size_t more = text.len > READ_MAX ? READ_MAX : text.len;
		ssize_t n;

		if (more < READ_MIN)
			more = READ_MIN;
		if (str_reserve(&text, more) < 0)
			return -ENOMEM;
		n = read(fd, text.data + text.len, more);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		if ((size_t)n > max - text.len)
			return -EFBIG;
		text.len += (size_t)n;
		text.data[text.len] = '\0';
	}
	str_release(ret_text);
	*ret_text = text;
	text = (struct str){0};
	return 0;
}

static void close_between(int first, int last)
{
	if (first <= last)
		(void)sys_close_range((unsigned)first, (unsigned)last, 0);
}

/* The lowest of KEEP that is FIRST or more; INT_MAX: none. */
static int next_kept(int first, const int *keep, size_t n)
{
	int next = INT_MAX;

	for (size_t i = 0; i < n; i++)
		if (keep[i] >= first && keep[i] < next)
			next = keep[i];
	return next;
}

static int socket_option(int fd, int option)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &size) < 0 ? -1 : value;
}

/* A stream of the local family is tied to its peer for good. Others can be connected
 * anew, and sent from to anybody, in the network that they were made in. */
static bool is_tied(int fd)
{
	int type = socket_option(fd, SO_TYPE);
	struct sockaddr peer;
	socklen_t size = sizeof(peer);

	return socket_option(fd, SO_DOMAIN) == AF_UNIX &&
	       (type == SOCK_STREAM || type == SOCK_SEQPACKET) &&
	       (getpeername(fd, &peer, &size) == 0 || socket_option(fd, SO_ACCEPTCONN) == 1);
}

const char *fd_way_out(int fd, bool offline)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return "something that cannot be looked at";
	if (S_ISDIR(st.st_mode))
		return "a folder";
	if (offline && S_ISSOCK(st.st_mode) && !is_tied(fd))
		return "a socket that can be connected elsewhere";
	return NULL;
}

int fd_pipe_for(mode_t others, int ret[2])
{
	if (pipe2(ret, O_CLOEXEC) < 0)
		return -errno;
	/* Where it does not work those names do not either, and nothing else. */
	if (geteuid() == 0)
		(void)fchmod(ret[0], S_IRUSR | S_IWUSR | others);
	return 0;
}

void fds_close_others(const int *keep, size_t n)
{
	int first = 3, next;

	while ((next = next_kept(first, keep, n)) < INT_MAX) {
		close_between(first, next - 1);
		first = next + 1;
	}
	close_between(first, INT_MAX);
}

ssize_t fd_pread_all(int fd, void *buf, size_t size, off_t at)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = pread(fd, (char *)buf + have, size - have, at + (off_t)have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}
