/* SPDX-License-Identifier: MIT */
/* Ports of the host's loopback that lead to a server inside. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "net/broker-impl.h"

static const struct in6_addr loopback4 = {.s6_addr = {[10] = 0xff, 0xff, 127, 0, 0, 1}};

static void connect_inside(struct passage *p);

static void on_connected(void *data, uint32_t events)
{
	struct passage *p = data;
	socklen_t len = sizeof(int);
	int error = 0;

	(void)events;
	if (getsockopt(p->inside, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error != 0) {
		passage_unwatch(p);
		p->inside = fd_close(p->inside);
		connect_inside(p);
	} else {
		passage_open(p);
	}
}

/* The next address: that of IPv4, then that of IPv6. False: there is none left. */
static bool next_address(struct passage *p)
{
	if (p->to.port == 0)
		p->to = (struct endpoint){loopback4, p->dialled.port};
	else if (endpoint_is_v4(&p->to) && p->broker->has_v6)
		p->to.address = in6addr_loopback;
	else
		return false;
	return true;
}

/* Nobody has to be waited for: inside it is a loopback as well. */
static void connect_inside(struct passage *p)
{
	struct broker *b = p->broker;
	int r = -ECONNREFUSED;

	while (r < 0 && next_address(p)) {
		struct sockaddr_storage address;
		socklen_t len = endpoint_write(&p->to, b->has_v6 ? AF_INET6 : AF_INET, &address);

		p->inside = broker_socket(b);
		if (p->inside < 0)
			break;
		r = connect(p->inside, (struct sockaddr *)&address, len) < 0 ? -errno : 0;
		if (r == -EINPROGRESS)
			r = connect(p->inside, (struct sockaddr *)&address, len) < 0 ? -errno : 0;
		if (r == -EALREADY && passage_watch(p, EPOLLOUT, on_connected) == 0)
			return;
		if (r < 0)
			p->inside = fd_close(p->inside);
	}
	if (r < 0)
		passage_free(p);
	else
		passage_open(p);
}

static void admit(struct exposed *e, int fd)
{
	struct broker *b = e->broker;
	struct passage *p = passage_new(b, &(struct endpoint){0}, NULL);

	if (!p) {
		socket_reset(fd);
		return;
	}
	p->exposed = true;
	b->entered_len++;
	p->outside = fd;
	p->dialled.port = e->port;
	p->state = PASSAGE_DIALS;
	p->until_ns = clock_mono_ns() + DIAL_MS * 1000000ull;
	if (limits_admit(p))
		connect_inside(p);
	else
		passage_free(p);
}

static void set_paused(struct exposed *e, bool paused)
{
	e->paused = paused;
	for (int i = 0; i < 2; i++)
		if (e->entries[i].fd >= 0)
			(void)poller_change(e->broker->poller, &e->entries[i],
					    paused ? 0 : EPOLLIN);
}

static void serve(struct exposed *e, int listener)
{
	for (int i = 0; i < ACCEPTS; i++) {
		int fd;

		/* Each may need one for either family. */
		if (e->broker->pool_len < 2) {
			broker_want_more(e->broker);
			set_paused(e, true);
			return;
		}
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			set_paused(e, true); /* no descriptors: until some time has passed */
		if (fd < 0)
			return;
		admit(e, fd);
	}
}

static void on_exposed4(void *data, uint32_t events)
{
	struct exposed *e = data;

	(void)events;
	serve(e, e->entries[0].fd);
}

static void on_exposed6(void *data, uint32_t events)
{
	struct exposed *e = data;

	(void)events;
	serve(e, e->entries[1].fd);
}

/* A socket that listens on the host, -EAFNOSUPPORT where it has no such loopback, or -errno. */
static int listen_outside(int family, uint16_t port)
{
	_cleanup_(fd_closep) int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct endpoint at = {family == AF_INET ? loopback4 : in6addr_loopback, port};
	struct sockaddr_storage address;
	socklen_t len = endpoint_write(&at, family, &address);

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	socket_tune(fd, true);
	if (family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){1}, sizeof(int));
	if (bind(fd, (struct sockaddr *)&address, len) < 0)
		return errno == EADDRNOTAVAIL ? -EAFNOSUPPORT : -errno;
	if (listen(fd, BACKLOG) < 0)
		return -errno;
	return take_fd(fd);
}

static int open_one(struct exposed *e, struct err *err)
{
	for (int i = 0; i < 2; i++) {
		struct poll_entry *entry = &e->entries[i];
		int r, fd = listen_outside(i == 0 ? AF_INET : AF_INET6, e->port);

		if (fd == -EAFNOSUPPORT && i == 1)
			continue;
		if (fd < 0) {
			r = err_sys(err, fd, "expose port %u on the host's loopback", e->port);
			if (fd == -EADDRINUSE)
				err_hint(err, r, "end what listens there, or take %u out of expose",
					 e->port);
			if (fd == -EACCES)
				err_hint(err, r, "an ordinary user takes a port from 1024 on");
			return r;
		}
		/* Who comes early waits until there is an inside. */
		*entry = (struct poll_entry){fd, 0, i == 0 ? on_exposed4 : on_exposed6, e};
		r = poller_add(e->broker->poller, entry);
		if (r < 0) {
			entry->fd = fd_close(fd);
			return err_sys(err, r, "watch port %u", e->port);
		}
	}
	return 0;
}

int expose_open(struct broker *b, const struct strv *ports, struct err *err)
{
	int r = 0;

	b->exposed = calloc(ports->len, sizeof(*b->exposed));
	if (!b->exposed)
		return ports->len == 0 ? 0 : err_oom(err);
	for (size_t i = 0; r == 0 && i < ports->len; i++) {
		struct exposed *e = &b->exposed[b->exposed_len++];

		*e = (struct exposed){.broker = b, .paused = true};
		e->port = (uint16_t)strtoul(ports->items[i], NULL, 10);
		e->entries[0].fd = e->entries[1].fd = -1;
		r = open_one(e, err);
	}
	return r;
}

bool expose_has(const struct broker *b, const struct endpoint *at)
{
	bool ours = IN6_ARE_ADDR_EQUAL(&at->address, &loopback4) ||
		    IN6_IS_ADDR_LOOPBACK(&at->address);

	for (size_t i = 0; ours && i < b->exposed_len; i++)
		if (b->exposed[i].port == at->port)
			return true;
	return false;
}

void expose_resume(struct broker *b)
{
	for (size_t i = 0; i < b->exposed_len; i++)
		if (b->exposed[i].paused && b->pool_len >= 2)
			set_paused(&b->exposed[i], false);
}

void expose_free(struct broker *b)
{
	for (size_t i = 0; i < b->exposed_len * 2; i++) {
		struct poll_entry *entry = &b->exposed[i / 2].entries[i % 2];

		if (entry->fd < 0)
			continue;
		poller_remove(b->poller, entry);
		(void)shutdown(entry->fd, SHUT_RDWR); /* whoever has a copy still */
		fd_close(entry->fd);
	}
	free(b->exposed);
	b->exposed = NULL;
	b->exposed_len = 0;
}
