/* SPDX-License-Identifier: MIT */
/*
 * netbox - a private network with a broker outside of it, for tests: what engine/ and observe/
 * do, in one small program.
 *
 * The parent runs the broker on a loop, a child lives inside. The child tells of its connects by
 * netbox_tell(), as the observer would, and of what it found by netbox_say().
 */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "engine/net.h"
#include "net/broker.h"
#include "plan/plan.h"
#include "tap.h"

enum { NETBOX_BATCH = 32, NETBOX_FIRST = NETBOX_BATCH + 3 };

struct netbox_request {
	struct endpoint to;
	bool stream, waits;
	char said[200]; /* not a request, but a result, when [0] is set */
	bool ok;
};

struct netbox {
	struct loop loop;
	struct broker *broker;
	int channel, feed; /* requests; batches of sockets */
	pid_t child;
	bool ended;
	unsigned refusals, reached, batches;
	void (*order)(struct netbox *box, const char *order); /* the child's, to us */
	struct refusal last;                                  /* its strings are these */
	char last_name[256], last_why[64], last_program[64];
};

static int netbox_channel = -1;      /* inside */
static int netbox_family = AF_INET6; /* of the sockets: AF_INET is a kernel without IPv6 */

static inline void netbox_die(const char *what)
{
	fprintf(stderr, "netbox: %s: %s\n", what, strerror(errno));
	exit(99);
}

static inline void netbox_send(int channel, const void *bytes, size_t len, const int *fds, size_t n)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(NETBOX_FIRST * sizeof(int))];
	struct iovec part = {(void *)bytes, len};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (n > 0) {
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(n * sizeof(int));
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);

		*head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
					 .cmsg_type = SCM_RIGHTS,
					 .cmsg_len = CMSG_LEN(n * sizeof(int))};
		memcpy(CMSG_DATA(head), fds, n * sizeof(int));
	}
	if (sendmsg(channel, &message, MSG_NOSIGNAL) < 0)
		netbox_die("sendmsg");
}

/* How many bytes came, and how many descriptors. */
static inline ssize_t netbox_receive(int channel, void *bytes, size_t len, int *fds, size_t *ret_n)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(NETBOX_FIRST * sizeof(int))];
	struct iovec part = {bytes, len};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *head = n < 0 ? NULL : CMSG_FIRSTHDR(&message);

	*ret_n = head ? (head->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
	if (head)
		memcpy(fds, CMSG_DATA(head), *ret_n * sizeof(int));
	return n;
}

/* Inside: what the warden does. */
static inline void netbox_feed(int feed, bool first)
{
	int fds[NETBOX_FIRST];
	size_t n = 0;

	if (first) {
		fds[n++] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		fds[n++] = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMP);
		fds[n++] = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
				  IPPROTO_ICMPV6);
	}
	for (int i = 0; i < NETBOX_BATCH; i++)
		fds[n++] = socket(netbox_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	netbox_send(feed, "s", 1, fds, n);
	if (!first)
		usleep(20000); /* the copies here must not matter */
	while (n > 0)
		close(fds[--n]);
}

static inline void netbox_say(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline void netbox_say(bool ok, const char *fmt, ...)
{
	struct netbox_request r = {.ok = ok};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r.said, sizeof(r.said), fmt, ap);
	va_end(ap);
	netbox_send(netbox_channel, &r, sizeof(r), NULL, 0);
}

/* 0 or an errno, as the observer would answer the call. */
static inline int netbox_tell(const struct endpoint *to, bool stream, bool waits)
{
	struct netbox_request r = {.to = *to, .stream = stream, .waits = waits};
	int pair[2], error = EIO;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return errno;
	netbox_send(netbox_channel, &r, sizeof(r), &pair[1], 1);
	close(pair[1]);
	if (read(pair[0], &error, sizeof(error)) != sizeof(error))
		error = EIO;
	close(pair[0]);
	return error;
}

/* As a program calls connect(2): it is told of, and then done. 0 or an errno. */
static inline int netbox_connect(int fd, int family, const struct endpoint *to)
{
	struct sockaddr_storage address;
	socklen_t len = endpoint_write(to, family, &address);
	int error = netbox_tell(to, true, !(fcntl(fd, F_GETFL) & O_NONBLOCK));

	if (error != 0)
		return error;
	return connect(fd, (struct sockaddr *)&address, len) < 0 ? errno : 0;
}

static inline void netbox_answer(void *data, uint64_t id, int error)
{
	(void)data;
	(void)!write((int)id, &error, sizeof(error)); /* it may be gone */
	close((int)id);
}

static inline void netbox_on_request(void *data, short revents)
{
	struct netbox *box = data;
	struct netbox_request r = {0};
	size_t n;
	int fd;

	(void)revents;
	if (netbox_receive(box->channel, &r, sizeof(r), &fd, &n) != sizeof(r)) {
		loop_remove(&box->loop, box->channel);
		box->ended = true;
		return;
	}
	if (r.said[0] == '!') {
		box->order(box, r.said + 1);
		return;
	}
	if (r.said[0]) {
		tap_ok(r.ok, "%s", r.said);
		return;
	}
	if (n != 1)
		netbox_die("a request without an ear");
	broker_connect(box->broker, &(struct broker_call){.to = r.to,
							  .stream = r.stream,
							  .waits = r.waits,
							  .program = "probe",
							  .answer = netbox_answer,
							  .data = box,
							  .id = (uint64_t)fd});
}

static inline void netbox_on_feed(void *data, short revents)
{
	struct netbox *box = data;
	int fds[NETBOX_FIRST];
	size_t n;
	char byte = 0;

	(void)revents;
	if (netbox_receive(box->feed, &byte, 1, fds, &n) != 1) {
		loop_remove(&box->loop, box->feed);
		return;
	}
	broker_take(box->broker, fds, n);
	if (box->batches++ == 0)
		(void)send(box->feed, "t", 1, MSG_NOSIGNAL);
}

static inline int netbox_more(void *data)
{
	struct netbox *box = data;

	return send(box->feed, "m", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

static inline void netbox_copy(char *to, size_t size, const char *from, const char **ret)
{
	*ret = from ? to : NULL;
	snprintf(to, size, "%s", from ? from : "");
}

static inline void netbox_refused(void *data, const struct refusal *refusal)
{
	struct netbox *box = data;

	box->refusals++;
	box->last = *refusal;
	netbox_copy(box->last_name, sizeof(box->last_name), refusal->name, &box->last.name);
	netbox_copy(box->last_why, sizeof(box->last_why), refusal->why, &box->last.why);
	netbox_copy(box->last_program, sizeof(box->last_program), refusal->program,
		    &box->last.program);
}

static inline void netbox_reached(void *data, const char *name, const struct endpoint *to,
				  const char *program)
{
	struct netbox *box = data;

	(void)name, (void)to, (void)program;
	box->reached++;
}

static inline void netbox_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		netbox_die(path);
	close(fd);
}

static inline _Noreturn void netbox_inside(int channel, int feed, void (*inside)(void *),
					   void *data)
{
	char map[64];
	struct err err;
	uid_t uid = geteuid();
	gid_t gid = getegid();
	pid_t feeder;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		netbox_die("unshare");
	netbox_write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	netbox_write_file("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	netbox_write_file("/proc/self/gid_map", map);
	if (net_everywhere(&err) < 0) {
		fprintf(stderr, "netbox: %s\n", err.message);
		exit(99);
	}
	netbox_channel = channel;
	netbox_feed(feed, true);
	if (recv(feed, &byte, 1, 0) != 1) /* nobody begins before the broker has */
		netbox_die("feed");
	feeder = fork();
	if (feeder == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(channel);
		while (recv(feed, &byte, 1, 0) == 1)
			netbox_feed(feed, false);
		_exit(0);
	}
	close(feed);
	inside(data);
	kill(feeder, SIGKILL);
	waitpid(feeder, NULL, 0);
	_exit(0);
}

/* Starts INSIDE(data) in a network of its own. 0, or what broker_new() said. BOX is empty but
 * for `order`, which gets what netbox_say() says after a "!". */
static inline int netbox_start(struct netbox *box, const struct plan_net *net,
			       void (*inside)(void *), void *data, struct err *err)
{
	struct broker_ear ear = {.refused = netbox_refused, .reached = netbox_reached, .data = box};
	int requests[2], feed[2], r;

	*box = (struct netbox){.order = box->order};
	r = broker_new(net, &box->loop, netbox_more, box, &ear, &box->broker, err);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, requests) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, feed) < 0)
		netbox_die("socketpair");
	fflush(NULL);
	box->child = fork();
	if (box->child == 0) {
		close(requests[0]);
		close(feed[0]);
		netbox_inside(requests[1], feed[1], inside, data);
	}
	close(requests[1]);
	close(feed[1]);
	box->channel = requests[0];
	box->feed = feed[0];
	if (loop_add(&box->loop, box->channel, POLLIN, netbox_on_request, box) < 0 ||
	    loop_add(&box->loop, box->feed, POLLIN, netbox_on_feed, box) < 0)
		abort();
	return 0;
}

/* Until the child has ended; then everything is closed. True: it ended well. */
static inline bool netbox_finish(struct netbox *box)
{
	int status;

	while (!box->ended)
		loop_turn(&box->loop);
	box->broker = broker_free(box->broker);
	close(box->channel);
	close(box->feed);
	loop_release(&box->loop);
	return waitpid(box->child, &status, 0) == box->child && status == 0;
}
