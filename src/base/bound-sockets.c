/* SPDX-License-Identifier: MIT */
#include "base/bound-sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"

/* The kernel puts a page into one, or as much as was asked for at most. */
#define BATCH_SIZE 8192u
#define TEXT_MAX   (64u << 20)

enum { STATE_CONNECTED = 1, STATE_CLOSE = 7, STATE_LISTEN = 10 }; /* as for TCP */

struct lister {
	bound_socket_fn *fn;
	void *data;
	struct err *err;
	int result; /* of fn */
};

static bool set_name(struct bound_socket *ret, const char *name, size_t len)
{
	len = strnlen(name, len);
	if (len == 0 || len >= sizeof(ret->name))
		return false; /* abstract, or without a name */
	memcpy(ret->name, name, len);
	ret->name[len] = '\0';
	return true;
}

/* -- By netlink ----------------------------------------------------------- */

static int ask(int fd)
{
	const struct {
		struct nlmsghdr head;
		struct unix_diag_req req;
	} question = {
		.head = {.nlmsg_len = sizeof(question),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.req = {.sdiag_family = AF_UNIX,
			.udiag_states = 1u << STATE_CONNECTED | 1u << STATE_CLOSE |
					1u << STATE_LISTEN,
			.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_VFS},
	};

	return send(fd, &question, sizeof(question), 0) < 0 ? -errno : 0;
}

/* The kernel's own numbers, not those of stat(2): twelve bits of major, twenty of minor. */
static dev_t device_of(uint32_t dev)
{
	return makedev(dev >> 20, dev & 0xfffff);
}

/* A datagram socket takes from everybody, also after somebody has connected to it. All other
 * connections have the name of who listens, and are no way in. */
static bool is_reachable(const struct unix_diag_msg *message)
{
	return message->udiag_state != STATE_CONNECTED || message->udiag_type == SOCK_DGRAM;
}

static int take_socket(struct lister *l, const struct nlmsghdr *head)
{
	const size_t start = NLMSG_SPACE(sizeof(struct unix_diag_msg));
	const struct rtattr *attr = (const void *)((const char *)head + start);
	struct bound_socket socket = {.dev = 0};
	bool named = false;
	size_t left;

	if (head->nlmsg_len < start)
		return -EBADMSG;
	if (!is_reachable(NLMSG_DATA(head)))
		return 0;
	left = head->nlmsg_len - start;
	for (; RTA_OK(attr, left); attr = RTA_NEXT(attr, left)) {
		struct unix_diag_vfs file;

		if (attr->rta_type == UNIX_DIAG_NAME)
			named = set_name(&socket, RTA_DATA(attr), RTA_PAYLOAD(attr));
		if (attr->rta_type != UNIX_DIAG_VFS || RTA_PAYLOAD(attr) < sizeof(file))
			continue;
		memcpy(&file, RTA_DATA(attr), sizeof(file));
		socket.ino = file.udiag_vfs_ino;
		socket.dev = device_of(file.udiag_vfs_dev);
	}
	if (named)
		l->result = l->fn(l->data, &socket, l->err);
	return l->result;
}

/* 1: that was the last. */
static int take_batch(struct lister *l, const void *batch, size_t len)
{
	const struct nlmsghdr *head = batch;
	int r = 0, failed = 0;

	for (; r == 0 && NLMSG_OK(head, len); head = NLMSG_NEXT(head, len)) {
		switch (head->nlmsg_type) {
		case SOCK_DIAG_BY_FAMILY:
			r = take_socket(l, head);
			break;
		case NLMSG_DONE:
		case NLMSG_ERROR:
			if (head->nlmsg_len < NLMSG_LENGTH(sizeof(failed)))
				return -EBADMSG;
			memcpy(&failed, NLMSG_DATA(head), sizeof(failed));
			if (failed == 0 && head->nlmsg_type == NLMSG_ERROR)
				return -EBADMSG;
			return failed < 0 ? failed : 1;
		default:
			return -EBADMSG;
		}
	}
	return r;
}

static int list_by_netlink(struct lister *l)
{
	_cleanup_(fd_closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
					     NETLINK_SOCK_DIAG);
	union {
		struct nlmsghdr head;
		char bytes[BATCH_SIZE];
	} batch;
	int r = fd < 0 ? -errno : ask(fd);

	while (r == 0) {
		ssize_t n = recv(fd, &batch, sizeof(batch), MSG_TRUNC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || (size_t)n > sizeof(batch))
			return n < 0 ? -errno : -EBADMSG;
		r = take_batch(l, &batch, (size_t)n);
	}
	return r < 0 ? r : 0;
}

/* -- By /proc -------------------------------------------------------------- */

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Past WIDTH digits and a blank; NULL: they are not there. */
static const char *skip_field(const char *at, const char *end, size_t width)
{
	if ((size_t)(end - at) <= width || at[width] != ' ')
		return NULL;
	for (size_t i = 0; i < width; i++)
		if (!is_hex(at[i]))
			return NULL;
	return at + width + 1;
}

/* Past the inode: a number of any length, after blanks. */
static const char *skip_inode(const char *at, const char *end)
{
	const char *digits;

	while (at < end && *at == ' ')
		at++;
	digits = at;
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at > digits && (at == end || *at == ' ' || *at == '\n') ? at : NULL;
}

/* LINE, if a socket begins there, and not a further line of a name: "ffff8e0d: 00000002 00000000
 * 00010000 0001 01 12345", then a blank and the name, if it has one. Returns what follows the
 * numbers, else NULL. */
static const char *skip_numbers(const char *line, const char *end)
{
	static const unsigned char widths[] = {8, 8, 8, 4, 2};
	const char *at = line;

	while (at < end && is_hex(*at))
		at++;
	if (at == line || end - at < 2 || at[0] != ':' || at[1] != ' ')
		return NULL;
	at += 2;
	for (size_t i = 0; i < array_len(widths) && at; i++)
		at = skip_field(at, end, widths[i]);
	return at ? skip_inode(at, end) : NULL;
}

int bound_sockets_parse(const char *text, size_t len, bound_socket_fn *fn, void *data,
			struct err *err)
{
	const char *end = text + len, *line = memchr(text, '\n', len), *name = NULL;
	int r = 0;

	while (line && r == 0) {
		const char *next, *numbers;

		line++;
		numbers = skip_numbers(line, end);
		next = memchr(line, '\n', (size_t)(end - line));
		if (numbers)
			name = numbers < end && *numbers == ' ' ? numbers + 1 : NULL;
		/* It goes on until the next one begins. */
		if (name && (!next || next + 1 >= end || skip_numbers(next + 1, end))) {
			const char *stop = next ? next : end;
			struct bound_socket socket = {.dev = 0};

			/* "@x" may be abstract, or a file of that name. */
			if (set_name(&socket, name, (size_t)(stop - name)))
				r = fn(data, &socket, err);
			name = NULL;
		}
		line = next;
	}
	return r;
}

static int list_by_proc(struct lister *l)
{
	_cleanup_(fd_closep) int fd = fd_open("/proc/net/unix", O_RDONLY);
	_cleanup_(str_release) struct str text = {0};
	int r = fd < 0 ? -errno : fd_read_all(fd, TEXT_MAX, &text);

	if (r < 0)
		return err_hint(
			l->err,
			err_sys(l->err, r, "find out which unix sockets the host's processes have"),
			"/proc/net/unix must be readable, or the kernel have unix_diag");
	return bound_sockets_parse(str_text(&text), text.len, l->fn, l->data, l->err);
}

int bound_sockets_list(bound_socket_fn *fn, void *data, struct err *err)
{
	struct lister l = {.fn = fn, .data = data, .err = err};
	int r = list_by_netlink(&l);

	if (r == 0 || l.result < 0)
		return r;
	return list_by_proc(&l);
}
