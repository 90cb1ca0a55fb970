/* SPDX-License-Identifier: MIT */
/*
 * Listeners inside, one for each endpoint that is wanted, and what they accept.
 *
 * Nothing is decided on what broker_connect() was told. It was read from the memory of a task
 * whose siblings can change it, and whose descriptor can become another one, before the
 * kernel reads it again. What the kernel connected in the end is known only here, by
 * getsockname(): that is judged, and only that is dialled. What was told beforehand opened
 * a listener, at most, and may have made a connection outside that nobody uses.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "net/broker-impl.h"

#define MS_NS 1000000ull

static const struct in6_addr loopback4 = {.s6_addr = {[10] = 0xff, 0xff, 127, 0, 0, 1}};
static const struct in6_addr any4 = {.s6_addr = {[10] = 0xff, 0xff}};

void listener_normalise(struct endpoint *e)
{
	if (IN6_ARE_ADDR_EQUAL(&e->address, &any4))
		e->address = loopback4;
	else if (IN6_IS_ADDR_UNSPECIFIED(&e->address))
		e->address = in6addr_loopback;
}

struct listener *listener_find(struct broker *b, const struct endpoint *at)
{
	struct listener *l = b->listeners;

	while (l && !endpoint_equal(&l->at, at))
		l = l->next;
	return l;
}

int listener_bind(struct broker *b, const struct endpoint *at)
{
	int family = b->has_v6 ? AF_INET6 : AF_INET;
	struct sockaddr_storage address;
	_cleanup_(fd_closep) int fd = -1;
	socklen_t len;

	if (family == AF_INET && !endpoint_is_v4(at))
		return -EAFNOSUPPORT;
	fd = broker_socket(b);
	if (fd < 0)
		return -EAGAIN;
	len = endpoint_write(at, family, &address);
	if (bind(fd, (struct sockaddr *)&address, len) < 0)
		return -errno;
	return take_fd(fd);
}

static void listener_close(struct listener *l)
{
	struct listener **at = &l->broker->listeners;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	l->broker->listeners_len--;
	l->broker->tick.wanted--;
	poller_remove(l->broker->poller, &l->entry);
	/* Whoever made the socket may have it open still, for a moment: it must not listen on. */
	(void)shutdown(l->entry.fd, SHUT_RDWR);
	fd_close(l->entry.fd);
	free(l);
}

/* The connection that was let go on to AT; one that has paid before one that has not. */
static struct passage *find_expected(struct broker *b, const struct endpoint *at)
{
	struct passage *unpaid = NULL;

	for (struct passage *p = b->passages; p; p = p->next) {
		if (p->state != PASSAGE_KEPT || !endpoint_equal(&p->to, at))
			continue;
		if (p->paid)
			return p;
		if (!unpaid)
			unpaid = p;
	}
	return unpaid;
}

/* Takes FD. */
static void admit(struct broker *b, int fd)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	struct endpoint to;
	struct passage *p;

	if (getsockname(fd, (struct sockaddr *)&address, &len) < 0 ||
	    !endpoint_read(&address, len, &to)) {
		socket_reset(fd);
		return;
	}
	p = find_expected(b, &to);
	if (p)
		listener_forget(p);
	else
		p = passage_new(b, &to, NULL);
	if (!p) {
		socket_reset(fd);
		return;
	}
	p->inside = fd;
	if (!p->paid)
		limits_take_turn(b, clock_mono_ns());
	p->paid = true;
	if (passage_judge(p) == REFUSED) {
		passage_tell_refusal(p);
		passage_free(p);
	} else if (!limits_admit(p)) {
		passage_free(p);
	} else if (p->outside >= 0) {
		passage_open(p);
	} else {
		passage_seek(p);
	}
}

static void pause_listener(struct listener *l)
{
	l->paused = poller_change(l->broker->poller, &l->entry, 0) == 0;
}

/* 0; -EAGAIN: nobody else is there; -EBUSY: there may be, later. */
static int accept_one(struct listener *l)
{
	struct broker *b = l->broker;
	uint64_t now = clock_mono_ns();
	const struct passage *expected;
	int fd;

	if (!limits_has_turn(b, now)) {
		expected = find_expected(b, &l->at);
		if (!expected || !expected->paid) {
			limits_meet(b, "connect_rate");
			pause_listener(l);
			return -EBUSY;
		}
	}
	fd = accept4(l->entry.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
		return 0;
	if (fd < 0 && errno != EAGAIN) {
		pause_listener(l);
		return -EBUSY;
	}
	if (fd < 0)
		return -EAGAIN;
	l->used_ns = now;
	admit(b, fd);
	return 0;
}

static void listener_serve(struct listener *l)
{
	int r = 0;

	for (int i = 0; i < ACCEPTS && r == 0; i++)
		r = accept_one(l);
	/* The command's own server may want the place. */
	if (r == -EAGAIN && l->expected == 0 && endpoint_is_loopback(&l->at))
		listener_close(l);
}

static void on_listener(void *data, uint32_t events)
{
	(void)events;
	listener_serve(data);
}

/* The one that was unused for longest makes room. */
static void evict(struct broker *b)
{
	struct listener *oldest = NULL;

	for (struct listener *l = b->listeners; l; l = l->next)
		if (l->expected == 0 && (!oldest || l->used_ns < oldest->used_ns))
			oldest = l;
	if (oldest)
		listener_close(oldest);
}

/* FD, bound to AT, is the listener's, also on failure. */
static int listener_new(struct broker *b, const struct endpoint *at, int fd, struct listener **ret)
{
	struct listener *l;
	int r;

	if (b->listeners_len >= LISTENERS_MAX)
		evict(b);
	if (b->listeners_len >= LISTENERS_MAX || listen(fd, BACKLOG) < 0) {
		r = b->listeners_len >= LISTENERS_MAX ? -ENOBUFS : -errno;
		fd_close(fd);
		return r;
	}
	l = calloc(1, sizeof(*l));
	if (!l) {
		fd_close(fd);
		return -ENOMEM;
	}
	*l = (struct listener){.broker = b, .next = b->listeners, .at = *at};
	l->entry = (struct poll_entry){fd, EPOLLIN, on_listener, l};
	r = poller_add(b->poller, &l->entry);
	if (r < 0) {
		fd_close(fd);
		free(l);
		return r;
	}
	b->listeners = l;
	b->listeners_len++;
	b->tick.wanted++;
	*ret = l;
	return 0;
}

int listener_expect(struct passage *p)
{
	struct broker *b = p->broker;
	struct listener *l = listener_find(b, &p->to);
	int r = 0;

	if (!l && p->bound < 0) {
		r = listener_bind(b, &p->to);
		if (r < 0)
			return r;
		p->bound = r;
	}
	if (!l) {
		r = listener_new(b, &p->to, take_fd(p->bound), &l);
		if (r < 0)
			return r;
	}
	p->bound = fd_close(p->bound);
	p->state = PASSAGE_KEPT;
	l->expected++;
	l->used_ns = clock_mono_ns();
	p->until_ns = l->used_ns + (p->outside >= 0 ? KEPT_MS : EXPECTED_MS) * MS_NS;
	return 0;
}

void listener_forget(struct passage *p)
{
	struct listener *l = listener_find(p->broker, &p->to);

	p->state = PASSAGE_NEW;
	if (l && l->expected > 0)
		l->expected--;
}

void listeners_tick(struct broker *b, uint64_t now)
{
	for (struct listener *l = b->listeners, *next; l; l = next) {
		next = l->next;
		if (l->paused && limits_has_turn(b, now))
			l->paused = poller_change(b->poller, &l->entry, EPOLLIN) < 0;
		if (l->paused || l->expected > 0)
			continue;
		if (endpoint_is_loopback(&l->at) || now >= l->used_ns + IDLE_MS * MS_NS)
			listener_close(l);
	}
}

void listeners_free(struct broker *b)
{
	while (b->listeners)
		listener_close(b->listeners);
}
