/* SPDX-License-Identifier: MIT */
#include "observe/brokered.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "net/broker.h"
#include "net/names.h"
#include "observe/attempt.h"
#include "observe/call.h"
#include "observe/observer.h"
#include "observe/task.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#define RESTART 512 /* ERESTARTSYS: only the kernel sees it, and asks the handler's flags */

/* What is known of a socket, when the caller's own can be looked at. */
struct socket_facts {
	int fd; /* a duplicate, ours; -errno: it could not be had, and the rest is a guess */
	bool internet, stream;
	bool fresh; /* nothing was ever connected by it */
	bool waits;
};

static int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, name, &value, &len) < 0 ? -1 : value;
}

/* Other protocols than TCP have nobody to talk to: they count as datagrams. The caller waits
 * for us, so nothing is asked that is not needed. */
static void look_at_socket(pid_t pid, int number, struct socket_facts *ret)
{
	struct tcp_info info = {.tcpi_state = TCP_CLOSE};
	socklen_t len = sizeof(info);
	int protocol, domain;

	*ret = (struct socket_facts){
		.fd = task_take_fd(pid, number), .internet = true, .stream = true, .fresh = true};
	if (ret->fd < 0)
		return;
	protocol = option(ret->fd, SOL_SOCKET, SO_PROTOCOL);
	ret->stream = protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP;
	if (!ret->stream) {
		domain = option(ret->fd, SOL_SOCKET, SO_DOMAIN);
		ret->internet = domain == AF_INET || domain == AF_INET6;
		return;
	}
	(void)getsockopt(ret->fd, IPPROTO_TCP, TCP_INFO, &info, &len);
	ret->fresh = info.tcpi_state == TCP_CLOSE;
	ret->waits = !(fcntl(ret->fd, F_GETFL) & O_NONBLOCK);
}

/* When connect(2) would give up by SO_SNDTIMEO. */
static uint64_t patience(int fd)
{
	struct timeval wait = {0};
	socklen_t len = sizeof(wait);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, &len) < 0 ||
	    (wait.tv_sec == 0 && wait.tv_usec == 0))
		return UINT64_MAX;
	return clock_mono_ns() + (uint64_t)wait.tv_sec * 1000000000 + (uint64_t)wait.tv_usec * 1000;
}

/* Datagrams of the command to itself are its own. To connect to a name's address sends
 * nothing: so is found which of several to prefer. */
static bool goes_on(const struct attempt *a, const struct socket_facts *s)
{
	if (!s->internet || (s->stream && !s->fresh))
		return true;
	if (s->stream)
		return false;
	return endpoint_is_loopback(&a->to) || (a->call->nr == __NR_connect && a->to.port != 53 &&
						names_is_synthetic(&a->to.address));
}

static struct brokered_call *add(struct brokered *b)
{
	struct brokered_call *grown;

	if (b->len < b->cap)
		return &b->calls[b->len++];
	grown = reallocarray(b->calls, b->cap ? b->cap * 2 : 8, sizeof(*grown));
	if (!grown)
		return NULL;
	b->calls = grown;
	b->cap = b->cap ? b->cap * 2 : 8;
	return &b->calls[b->len++];
}

static void drop(struct brokered *b, size_t i)
{
	b->calls[i] = b->calls[--b->len];
}

static void on_answer(void *data, uint64_t id, int error)
{
	struct observer *o = data;
	struct brokered *b = &o->brokered;

	for (size_t i = 0; i < b->len; i++)
		if (b->calls[i].id == id) {
			drop(b, i);
			(void)observer_answer(o, id, -error);
			return;
		}
}

static struct brokered_call *find(struct brokered *b, uint64_t id)
{
	for (size_t i = 0; i < b->len; i++)
		if (b->calls[i].id == id)
			return &b->calls[i];
	return NULL;
}

static void hand_over(struct observer *o, const struct seccomp_notif *notice,
		      const struct attempt *a, const struct socket_facts *s)
{
	bool waits = s->waits &&
		     !(notice->data.nr == __NR_sendto && notice->data.args[3] & MSG_DONTWAIT);
	struct brokered *b = &o->brokered;
	struct brokered_call *call = add(b);
	char program[TASK_PROGRAM_MAX];

	if (!call) { /* without memory nothing is reached */
		(void)observer_answer(o, notice->id, -ENETUNREACH);
		return;
	}
	*call = (struct brokered_call){
		.id = notice->id, .pid = a->pid, .to = a->to, .until_ns = UINT64_MAX};
	b->taken++;
	task_program(a->pid, program);
	broker_connect(b->broker, &(struct broker_call){.to = a->to,
							.stream = s->stream,
							.waits = waits,
							.program = program[0] ? program : NULL,
							.answer = on_answer,
							.data = o,
							.id = notice->id});
	call = find(b, notice->id);
	if (call && waits)
		call->until_ns = patience(s->fd);
}

bool brokered_take(struct observer *o, const struct seccomp_notif *notice, const struct attempt *a)
{
	struct socket_facts s;
	bool taken;

	if (!o->brokered.broker || !a->call || a->call->kind != CALL_CONNECT ||
	    (a->address.kind != ADDRESS_INTERNET && a->address.kind != ADDRESS_LOOPBACK))
		return false;
	look_at_socket(a->pid, (int)notice->data.args[0], &s);
	taken = !goes_on(a, &s);
	if (taken)
		hand_over(o, notice, a, &s);
	task_return_fd(s.fd);
	return taken;
}

bool brokered_waits_for(const struct brokered *b, const struct endpoint *to)
{
	for (size_t i = 0; i < b->len; i++)
		if (endpoint_equal(&b->calls[i].to, to))
			return true;
	return false;
}

/* The errno that ends its wait, or 0. A signal counts when it was there the last time, too: one
 * that another thread takes is gone by then, and who is told to restart without having one
 * would see an errno that nobody knows. */
static int overdue(struct brokered_call *call, uint64_t now)
{
	bool before = call->signalled;

	if (now >= call->until_ns)
		return EINPROGRESS; /* as connect(2) calls it */
	call->signalled = task_has_signal(call->pid);
	if (!before || !call->signalled)
		return 0;
	return call->until_ns == UINT64_MAX ? RESTART
					    : EINTR; /* a wait with an end is not begun anew */
}

void brokered_check(struct observer *o)
{
	struct brokered *b = &o->brokered;
	uint64_t now = clock_mono_ns();

	for (size_t i = 0; i < b->len;) {
		uint64_t id = b->calls[i].id;
		bool here = ioctl(o->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
		int error = here ? overdue(&b->calls[i], now) : 0;

		if (here && !error) {
			i++;
			continue;
		}
		drop(b, i);
		if (b->broker)
			broker_cancel(b->broker, o, id);
		if (error)
			(void)observer_answer(o, id, -error);
	}
}

void brokered_release(struct observer *o)
{
	struct brokered *b = &o->brokered;

	if (b->broker)
		broker_forget(b->broker, o);
	free(b->calls);
	*b = (struct brokered){0};
}
