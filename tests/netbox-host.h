/* SPDX-License-Identifier: MIT */
/*
 * netbox-host - what tests of the broker have in common: servers on the host that count whom they
 * accepted, ways to visit them from inside, and both kinds of user.
 */
#pragma once
#include "netbox.h"

#include <arpa/inet.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

static struct {
	atomic_uint echo, forbidden; /* connections that were accepted */
} * counts;
static uint16_t echo_port, forbidden_port, closed_port, expose_port;
static pid_t servers;

static inline struct endpoint v4(const char *text, uint16_t port)
{
	struct endpoint e = {.address.s6_addr = {[10] = 0xff, [11] = 0xff}, .port = port};

	if (inet_pton(AF_INET, text, &e.address.s6_addr[12]) != 1)
		abort();
	return e;
}

static inline struct endpoint v6(const char *text, uint16_t port)
{
	struct endpoint e = {.port = port};

	if (inet_pton(AF_INET6, text, &e.address) != 1)
		abort();
	return e;
}

static inline int listen_at(const struct endpoint *at, uint16_t *ret_port)
{
	int family = endpoint_is_v4(at) ? AF_INET : AF_INET6;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage address;
	socklen_t len = endpoint_write(at, family, &address);
	struct endpoint got;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (bind(fd, (void *)&address, len) < 0 || listen(fd, 1024) < 0) {
		close(fd);
		return -1;
	}
	len = sizeof(address);
	getsockname(fd, (void *)&address, &len);
	endpoint_read(&address, len, &got);
	if (ret_port)
		*ret_port = got.port;
	return fd;
}

static inline void echo(int fd)
{
	static char buf[65536];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		for (ssize_t at = 0, sent; at < n; at += sent)
			if ((sent = send(fd, buf + at, (size_t)(n - at), MSG_NOSIGNAL)) <= 0)
				_exit(0);
	_exit(0);
}

static inline _Noreturn void serve(struct pollfd *fds)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		poll(fds, 3, -1);
		for (int i = 0; i < 3; i++) {
			int fd = fds[i].revents ? accept(fds[i].fd, NULL, NULL) : -1;

			if (fd < 0)
				continue;
			atomic_fetch_add(i == 2 ? &counts->forbidden : &counts->echo, 1);
			if (i < 2 && fork() == 0)
				echo(fd);
			close(fd);
		}
	}
}

/* Not of those that the kernel gives to whoever connects. */
static inline uint16_t free_port(void)
{
	static uint16_t next;

	if (next == 0)
		next = (uint16_t)(20000 + getpid() % 10000);
	for (;; next++) {
		struct endpoint four = v4("127.0.0.1", next), six = v6("::1", next);
		int a = listen_at(&four, NULL), b = listen_at(&six, NULL);

		close(a);
		close(b);
		if (a >= 0 && b >= 0)
			return next++;
	}
}

static inline void start_servers(void)
{
	struct endpoint any = v4("127.0.0.1", 0), six = v6("::1", 0);
	struct pollfd fds[3] = {{.events = POLLIN}, {.events = POLLIN}, {.events = POLLIN}};

	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fds[0].fd = listen_at(&any, &echo_port);
	six.port = echo_port;
	fds[1].fd = listen_at(&six, NULL);
	fds[2].fd = listen_at(&any, &forbidden_port);
	closed_port = free_port();
	expose_port = free_port();
	servers = fork();
	if (servers == 0)
		serve(fds);
	for (int i = 0; i < 3; i++)
		close(fds[i].fd);
}

/* Inside. */

static inline int stream(int family, int flags)
{
	struct timeval t = {.tv_sec = 10};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	return fd;
}

static inline bool word(int fd)
{
	char buf[8] = "";

	return send(fd, "hello", 5, MSG_NOSIGNAL) == 5 && recv(fd, buf, 5, MSG_WAITALL) == 5 &&
	       memcmp(buf, "hello", 5) == 0;
}

/* Connects, exchanges a word, and closes. 0 or an errno; EPROTO: no word came back. */
static inline int visit(int family, const struct endpoint *to)
{
	int fd = stream(family, 0), error = netbox_connect(fd, family, to);

	if (error == 0 && !word(fd))
		error = EPROTO;
	close(fd);
	return error;
}

static inline int wait_connected(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int error = 0;

	if (poll(&p, 1, 5000) != 1)
		return ETIMEDOUT;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return error;
}

static inline void set_blocking(int fd)
{
	fcntl(fd, F_SETFL, 0);
}

static inline struct plan_net everything(void)
{
	return (struct plan_net){.brokered = true,
				 .loopback = true,
				 .connections = 256,
				 .rate = UINT64_MAX,
				 .sent = UINT64_MAX,
				 .received = UINT64_MAX};
}

static inline bool run_box(struct netbox *box, const struct plan_net *net, void (*inside)(void *))
{
	struct err err = {0};

	if (netbox_start(box, net, inside, NULL, &err) < 0)
		return tap_ok(false, "%s", err.message);
	return tap_ok(netbox_finish(box), "the sandbox came up, and ended well");
}

/* ALL, with servers: as who we are and, from root, as uid 1000. */
static inline int as_both(void (*all)(void))
{
	bool root = geteuid() == 0;

	for (int i = 0; i < 1 + root; i++) {
		if (i == 1) {
			if (setgroups(0, NULL) < 0 || setresgid(1000, 1000, 1000) < 0 ||
			    setresuid(1000, 1000, 1000) < 0)
				abort();
			prctl(PR_SET_DUMPABLE, 1); /* so that /proc is ours */
		}
		tap_note("as uid %u", geteuid());
		start_servers();
		all();
		kill(servers, SIGKILL);
		waitpid(servers, NULL, 0);
	}
	return tap_done();
}
