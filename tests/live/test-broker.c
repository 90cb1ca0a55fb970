/* SPDX-License-Identifier: MIT */
/*
 * The broker between a private network and this host's loopback: as root, then as uid 1000.
 * Whether somebody was reached is counted by the servers.
 */
#include "netbox.h"

#include <arpa/inet.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

enum { MANY = 200, BIG = 8 << 20 };

static struct {
	atomic_uint echo, forbidden; /* connections that were accepted */
} * counts;
static uint16_t echo_port, forbidden_port, closed_port, expose_port;
static pid_t servers;
static bool own_hosts; /* a mount that only we see */

static struct endpoint v4(const char *text, uint16_t port)
{
	struct endpoint e = {.address.s6_addr = {[10] = 0xff, [11] = 0xff}, .port = port};

	if (inet_pton(AF_INET, text, &e.address.s6_addr[12]) != 1)
		abort();
	return e;
}

static struct endpoint v6(const char *text, uint16_t port)
{
	struct endpoint e = {.port = port};

	if (inet_pton(AF_INET6, text, &e.address) != 1)
		abort();
	return e;
}

static int listen_at(const struct endpoint *at, uint16_t *ret_port)
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

static void echo(int fd)
{
	static char buf[65536];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		for (ssize_t at = 0, sent; at < n; at += sent)
			if ((sent = send(fd, buf + at, (size_t)(n - at), MSG_NOSIGNAL)) <= 0)
				_exit(0);
	_exit(0);
}

static _Noreturn void serve(struct pollfd *fds)
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
static uint16_t free_port(void)
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

static void start_servers(void)
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

static int stream(int family, int flags)
{
	struct timeval t = {.tv_sec = 10};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	return fd;
}

static bool word(int fd)
{
	char buf[8] = "";

	return send(fd, "hello", 5, MSG_NOSIGNAL) == 5 && recv(fd, buf, 5, MSG_WAITALL) == 5 &&
	       memcmp(buf, "hello", 5) == 0;
}

/* Connects, exchanges a word, and closes. 0 or an errno; EPROTO: no word came back. */
static int visit(int family, const struct endpoint *to)
{
	int fd = stream(family, 0), error = netbox_connect(fd, family, to);

	if (error == 0 && !word(fd))
		error = EPROTO;
	close(fd);
	return error;
}

static int wait_connected(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int error = 0;

	if (poll(&p, 1, 5000) != 1)
		return ETIMEDOUT;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return error;
}

static void set_blocking(int fd)
{
	fcntl(fd, F_SETFL, 0);
}

static void try_families(void)
{
	struct endpoint four = v4("127.0.0.1", echo_port), six = v6("::1", echo_port);
	struct endpoint any = v4("0.0.0.0", echo_port), other = v4("127.8.8.8", echo_port);
	int fd = stream(AF_INET, SOCK_NONBLOCK), ep = epoll_create1(EPOLL_CLOEXEC), error;
	struct epoll_event event = {.events = EPOLLOUT | EPOLLIN | EPOLLET};

	netbox_say(visit(AF_INET, &four) == 0, "blocking, IPv4");
	netbox_say(visit(AF_INET6, &six) == 0, "blocking, IPv6");
	netbox_say(visit(AF_INET6, &four) == 0, "IPv4 inside IPv6");
	netbox_say(visit(AF_INET, &any) == 0, "0.0.0.0 is the loopback");
	error = visit(AF_INET, &other);
	netbox_say(error == ECONNREFUSED, "another address of it, where nobody is: %s",
		   strerror(error));
	error = netbox_connect(fd, AF_INET, &four);
	netbox_say(error == EINPROGRESS && wait_connected(fd) == 0, "not blocking: %s",
		   strerror(error));
	set_blocking(fd);
	netbox_say(word(fd), "and it works");
	close(fd);
	fd = stream(AF_INET, SOCK_NONBLOCK);
	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event);
	netbox_connect(fd, AF_INET, &four);
	netbox_say(epoll_wait(ep, &event, 1, 5000) == 1, "epoll from before the connect tells");
	set_blocking(fd);
	netbox_say(wait_connected(fd) == 0 && word(fd), "of the right socket");
	close(fd);
	close(ep);
}

static void try_refusals(void)
{
	struct endpoint closed = v4("127.0.0.1", closed_port), world = v4("192.0.2.1", 80);
	struct endpoint world6 = v6("2001:db8::1", 80), echo_at = v4("127.0.0.1", echo_port);
	struct sockaddr_storage address;
	socklen_t len;
	int fd = stream(AF_INET, SOCK_NONBLOCK), error = visit(AF_INET, &closed);

	netbox_say(error == ECONNREFUSED, "where nobody listens: %s", strerror(error));
	error = netbox_connect(fd, AF_INET, &closed);
	netbox_say(error == ECONNREFUSED ||
			   (error == EINPROGRESS && wait_connected(fd) == ECONNREFUSED),
		   "the same for a caller that does not block");
	close(fd);
	error = visit(AF_INET, &world);
	netbox_say(error == ENETUNREACH, "an address of the world: %s", strerror(error));
	error = visit(AF_INET6, &world6);
	netbox_say(error == ENETUNREACH, "one of IPv6: %s", strerror(error));
	fd = stream(AF_INET, SOCK_NONBLOCK);
	error = netbox_connect(fd, AF_INET, &world);
	netbox_say(error == ENETUNREACH, "not blocking: %s", strerror(error));
	close(fd);
	fd = stream(AF_INET, 0);
	len = endpoint_write(&world, AF_INET, &address);
	netbox_say(connect(fd, (void *)&address, len) < 0 && errno == ECONNREFUSED,
		   "a connect that was not told of meets nobody");
	len = endpoint_write(&echo_at, AF_INET, &address);
	netbox_say(connect(fd, (void *)&address, len) < 0 && errno == ECONNREFUSED,
		   "nor does one to what may be reached");
	close(fd);
}

static void try_own_server(void)
{
	struct endpoint own = v4("127.0.0.1", echo_port);
	int before = atomic_load(&counts->echo), l, fd, there;

	usleep(300000); /* what was expected before is over */
	before = (int)atomic_load(&counts->echo);
	l = listen_at(&own, NULL);
	netbox_say(l >= 0, "a port that was connected to can be bound");
	fd = stream(AF_INET, 0);
	netbox_say(netbox_connect(fd, AF_INET, &own) == 0, "a server inside is connected to");
	there = accept(l, NULL, NULL);
	netbox_say(there >= 0 && send(there, "own", 3, 0) == 3, "it is the command's own");
	netbox_say((int)atomic_load(&counts->echo) == before, "and the host's is left alone");
	close(there);
	close(fd);
	close(l);
}

static void try_streams(void)
{
	struct endpoint to = v4("127.0.0.1", echo_port);
	int fd = stream(AF_INET, 0);
	static char out[65536], in[65536];
	size_t sum = 0;
	bool same = true;
	ssize_t n;
	pid_t writer;

	netbox_connect(fd, AF_INET, &to);
	writer = fork();
	if (writer == 0) {
		for (size_t at = 0; at < BIG; at += sizeof(out)) {
			memset(out, (int)(at >> 16), sizeof(out));
			for (size_t i = 0; i < sizeof(out); i += (size_t)n)
				if ((n = send(fd, out + i, sizeof(out) - i, MSG_NOSIGNAL)) <= 0)
					_exit(1);
		}
		shutdown(fd, SHUT_WR);
		_exit(0);
	}
	while ((n = recv(fd, in, sizeof(in), 0)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			same &= in[i] == (char)((sum + (size_t)i) >> 16);
		sum += (size_t)n;
	}
	netbox_say(n == 0 && sum == BIG && same, "8 MiB out and back, and the end (%zu, %zd)", sum,
		   n);
	waitpid(writer, NULL, 0);
	close(fd);
}

static void try_many(void)
{
	struct endpoint to = v4("127.0.0.1", echo_port);
	int fds[MANY], connected = 0, words = 0;

	for (int i = 0; i < MANY; i++) {
		fds[i] = stream(AF_INET, i % 2 ? SOCK_NONBLOCK : 0);
		int error = netbox_connect(fds[i], AF_INET, &to);

		connected += error == 0 || (error == EINPROGRESS && wait_connected(fds[i]) == 0);
		set_blocking(fds[i]);
	}
	for (int i = 0; i < MANY; i++)
		words += word(fds[i]);
	netbox_say(connected == MANY && words == MANY, "%d of %d at once, %d words", connected,
		   MANY, words);
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
}

/* Many processes that connect and end, some in the middle of a call. */
static void try_storm(void)
{
	struct endpoint to = v4("127.0.0.1", echo_port);
	int status, good = 0;

	for (int i = 0; i < 100; i++) {
		pid_t victim, child = fork();

		if (child == 0)
			_exit(visit(AF_INET, &to));
		victim = fork();
		if (victim == 0) {
			for (;;)
				visit(AF_INET, &to);
		}
		good += waitpid(child, &status, 0) == child && status == 0;
		kill(victim, SIGKILL);
		waitpid(victim, NULL, 0);
	}
	netbox_say(good == 100, "%d of 100, beside others that were killed", good);
}

static void try_datagrams(void)
{
	struct endpoint world = v4("192.0.2.9", 9), world6 = v6("2001:db8::9", 9);
	struct endpoint name = v4("198.18.0.7", 443);
	struct sockaddr_storage address;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error;
	int six = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	error = netbox_tell(&world, false, true);
	netbox_say(error == ENETUNREACH, "a datagram to the world: %s", strerror(error));
	netbox_say(netbox_tell(&name, false, true) == 0,
		   "a datagram socket may be connected to what stands for a name");
	/* Not told of: only the kernel sees these. */
	sendto(fd, "x", 1, 0, (void *)&address, endpoint_write(&world, AF_INET, &address));
	sendto(six, "x", 1, 0, (void *)&address, endpoint_write(&world6, AF_INET6, &address));
	close(fd);
	close(six);
}

static void live_inside(void *data)
{
	(void)data;
	try_families();
	try_refusals();
	try_own_server();
	try_streams();
	try_many();
	try_storm();
	try_datagrams();
	usleep(200000);
}

static struct plan_net everything(void)
{
	return (struct plan_net){.brokered = true,
				 .loopback = true,
				 .connections = 256,
				 .rate = UINT64_MAX,
				 .sent = UINT64_MAX,
				 .received = UINT64_MAX};
}

static bool run_box(struct netbox *box, const struct plan_net *net, void (*inside)(void *))
{
	struct err err = {0};

	if (netbox_start(box, net, inside, NULL, &err) < 0)
		return tap_ok(false, "%s", err.message);
	return tap_ok(netbox_finish(box), "the sandbox came up, and ended well");
}

static void test_loopback(void)
{
	struct plan_net net = everything();
	struct netbox box;

	run_box(&box, &net, live_inside);
	tap_ok(box.batches > 3, "more sockets came when they were needed (%u batches)",
	       box.batches);
	tap_ok(box.reached > MANY, "what was reached is told (%u)", box.reached);
	/* Three streams; two datagrams by ICMP, and one by its call. */
	tap_eq_int(box.refusals, 6, "each refusal was told");
	tap_ok(box.last.kind == REFUSED_UDP && box.last.to.port == 9,
	       "datagrams that nobody told of are seen");
}

static void lie_inside(void *data)
{
	struct endpoint good = v4("127.0.0.1", echo_port), bad = v4("127.0.0.1", forbidden_port);
	struct endpoint far = v4("192.0.2.1", echo_port);
	struct sockaddr_storage address;
	socklen_t len = endpoint_write(&bad, AF_INET, &address);
	int reached = 0, error;

	(void)data;
	netbox_say(visit(AF_INET, &good) == 0, "the port that is listed is reached");
	error = visit(AF_INET, &bad);
	netbox_say(error == ECONNREFUSED, "another is not: %s", strerror(error));
	for (int i = 0; i < 200; i++) {
		int fd = stream(AF_INET, i % 2 ? SOCK_NONBLOCK : 0);

		netbox_tell(&good, true, i % 2 == 0);
		if (i % 3 == 0)
			len = endpoint_write(&far, AF_INET, &address);
		else
			len = endpoint_write(&bad, AF_INET, &address);
		connect(fd, (void *)&address, len);
		if (i % 2)
			wait_connected(fd);
		reached += word(fd);
		close(fd);
	}
	netbox_say(reached == 0, "who tells of one and connects to another reaches nobody");
}

static void test_ports(void)
{
	struct plan_net net = everything();
	struct netbox box;
	char port[8];

	snprintf(port, sizeof(port), "%u", echo_port);
	strv_add(&net.ports, port);
	net.ports_set = true;
	run_box(&box, &net, lie_inside);
	tap_eq_int(atomic_load(&counts->forbidden), 0, "the forbidden server accepted nothing");
	tap_ok(box.refusals >= 1 && box.last.kind == REFUSED_ADDRESS &&
		       box.last.to.port == forbidden_port && box.last.program &&
		       strcmp(box.last.program, "probe") == 0,
	       "and it is told who wanted it");
	strv_release(&net.ports);
}

static void many_inside(void *data)
{
	struct endpoint to = v4("127.0.0.1", echo_port);
	int fds[6], errors[6];

	(void)data;
	for (int i = 0; i < 6; i++) {
		fds[i] = stream(AF_INET, 0);
		errors[i] = netbox_connect(fds[i], AF_INET, &to);
	}
	netbox_say(errors[3] == 0 && errors[4] == ENETUNREACH && errors[5] == ENETUNREACH,
		   "four at once, not five");
	close(fds[0]);
	usleep(200000);
	netbox_say(visit(AF_INET, &to) == 0, "when one ends another may begin");
}

static void often_inside(void *data)
{
	struct endpoint to = v4("127.0.0.1", echo_port);
	uint64_t begin = clock_mono_ns();
	int good = 0;
	double seconds;

	(void)data;
	for (int i = 0; i < 40; i++)
		good += visit(AF_INET, &to) == 0;
	seconds = (double)(clock_mono_ns() - begin) / 1e9;
	netbox_say(good == 40 && seconds > 0.8 && seconds < 5,
		   "40 at 20 in a second: all, in %.1f s", seconds);
}

static void much_inside(void *data)
{
	struct endpoint to = v4("127.0.0.1", echo_port);
	static char block[2000];
	int idle = stream(AF_INET, 0), fd = stream(AF_INET, 0);
	ssize_t n, sum = 0;

	(void)data;
	netbox_connect(idle, AF_INET, &to);
	netbox_connect(fd, AF_INET, &to);
	send(fd, block, 1000, MSG_NOSIGNAL);
	while (sum < 1000 && (n = recv(fd, block, 1000, 0)) > 0)
		sum += n;
	netbox_say(sum == 1000, "as much as may be sent");
	send(fd, block, 1, MSG_NOSIGNAL);
	netbox_say(recv(fd, block, 1, 0) < 0, "one byte more cuts it off");
	netbox_say(recv(idle, block, 1, 0) < 0 && errno == ECONNRESET, "and all others");
	netbox_say(visit(AF_INET, &to) == ENETUNREACH, "and no more get out");
	close(fd);
	close(idle);
}

static void test_limits(void)
{
	struct plan_net net = everything();
	struct netbox box;

	net.connections = 4;
	run_box(&box, &net, many_inside);
	tap_ok(box.last.kind == REFUSED_LIMIT && box.last.why &&
		       strcmp(box.last.why, "connections") == 0,
	       "the limit is named");
	net = everything();
	net.rate = 20;
	run_box(&box, &net, often_inside);
	tap_eq_int(box.refusals, 0, "who waits is not refused");
	net = everything();
	net.sent = 1000;
	run_box(&box, &net, much_inside);
	tap_ok(box.refusals == 1 && box.last.kind == REFUSED_LIMIT && box.last.why &&
		       strcmp(box.last.why, "net_sent") == 0,
	       "told once");
}

static int go[2];

static void serve_inside(void *data)
{
	struct endpoint at = v4("127.0.0.1", expose_port);
	int l, fd;
	char byte;

	for (int i = 0; i < 3; i++) {
		if (i == 1) {
			close(l);
			at = v6("::1", expose_port);
		}
		if (i < 2)
			l = listen_at(&at, NULL);
		if (i == 0)
			(void)!write(go[1], "g", 1);
		fd = accept(l, NULL, NULL);
		while (recv(fd, &byte, 1, 0) == 1)
			send(fd, &byte, 1, 0);
		close(fd);
	}
	(void)data;
	close(l);
}

static _Noreturn void clients_outside(void)
{
	struct endpoint four = v4("127.0.0.1", expose_port), six = v6("::1", expose_port);
	struct sockaddr_storage address;
	socklen_t len = endpoint_write(&four, AF_INET, &address);
	char byte;
	int fd, good = 0;

	(void)!read(go[0], &byte, 1);
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			usleep(100000);
		fd = stream(i == 2 ? AF_INET6 : AF_INET, 0);
		if (i == 2)
			len = endpoint_write(&six, AF_INET6, &address);
		good += connect(fd, (void *)&address, len) == 0 && word(fd);
		close(fd);
	}
	_exit(good == 3 ? 0 : 1);
}

static void test_expose(void)
{
	struct plan_net net = everything();
	struct endpoint at = v4("127.0.0.1", expose_port);
	struct err err = {0};
	struct netbox box;
	char port[8];
	int status, taken;
	pid_t clients;

	snprintf(port, sizeof(port), "%u", expose_port);
	strv_add(&net.expose, port);
	if (pipe2(go, O_CLOEXEC) < 0)
		abort();
	clients = fork();
	if (clients == 0)
		clients_outside();
	run_box(&box, &net, serve_inside);
	waitpid(clients, &status, 0);
	tap_eq_int(status, 0, "a server inside is reached from the host, on both loopbacks");
	taken = listen_at(&at, NULL);
	tap_ok(taken >= 0, "afterwards the port is free");
	tap_ok(netbox_start(&box, &net, serve_inside, NULL, &err) == -EADDRINUSE && err.hint[0],
	       "one that is taken is an error: %s", err.message);
	close(taken);
	close(go[0]);
	close(go[1]);
	strv_release(&net.expose);
}

/* A question about NAME to the resolver of the sandbox: the address that it answers. */
static bool ask_name(const char *name, struct endpoint *ret)
{
	struct endpoint resolver = v4("198.18.0.1", 53);
	struct sockaddr_storage address;
	uint8_t message[512] = {0x12, 0x34, 1, 0, 0, 1};
	struct timeval t = {.tv_sec = 5};
	size_t len = 12, label = strlen(name);
	socklen_t address_len = endpoint_write(&resolver, AF_INET, &address);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	message[len++] = (uint8_t)label;
	memcpy(message + len, name, label);
	len += label + 2;
	message[len++] = 1; /* A */
	message[++len - 1] = 0;
	message[len++] = 1; /* IN */
	if (netbox_tell(&resolver, false, true) != 0)
		return false;
	sendto(fd, message, len, 0, (void *)&address, address_len);
	n = recv(fd, message, sizeof(message), 0);
	close(fd);
	if (n < (ssize_t)len + 16 || message[7] == 0)
		return false;
	*ret = v4("0.0.0.0", echo_port);
	memcpy(&ret->address.s6_addr[12], message + n - 4, 4);
	return true;
}

static void names_inside(void *data)
{
	struct endpoint to, other;
	int fd, error;

	(void)data;
	netbox_say(ask_name("one", &to), "an allowed name has an address");
	error = visit(AF_INET, &to);
	netbox_say(error == 0, "which leads to what the name has outside: %s", strerror(error));
	fd = stream(AF_INET, SOCK_NONBLOCK);
	netbox_connect(fd, AF_INET, &to);
	error = wait_connected(fd);
	set_blocking(fd);
	netbox_say(error == 0 && word(fd), "not blocking, too");
	close(fd);
	other = to;
	other.port = forbidden_port;
	netbox_say(visit(AF_INET, &other) == ENETUNREACH, "at another port it does not");
	netbox_say(!ask_name("two", &other), "another name has none");
}

static void astray_inside(void *data)
{
	struct endpoint to;
	int error;

	(void)data;
	netbox_say(ask_name("one", &to), "a name that leads to the loopback has an address");
	error = visit(AF_INET, &to);
	netbox_say(error == ENETUNREACH, "but it is not dialled: %s", strerror(error));
}

static void test_names(void)
{
	struct plan_net net = everything();
	struct netbox box;
	char rule[64];

	if (!own_hosts) {
		tap_skip("an own /etc/hosts needs root");
		return;
	}
	net.loopback = false;
	snprintf(rule, sizeof(rule), "one:%u", echo_port);
	strv_add(&net.hosts, rule);
	run_box(&box, &net, astray_inside);
	tap_ok(box.refusals == 1 && box.last.kind == REFUSED_LEADS && box.last.name &&
		       strcmp(box.last.name, "one") == 0 && box.last.why,
	       "which is told (%s)", box.last_why);
	/* A rule for the address itself allows what the name leads to. */
	snprintf(rule, sizeof(rule), "127.0.0.1:%u", echo_port);
	strv_add(&net.hosts, rule);
	run_box(&box, &net, names_inside);
	strv_release(&net.hosts);
}

static void make_hosts(void)
{
	char path[] = "/tmp/pale-test-hosts-XXXXXX";
	int fd = mkstemp(path);

	own_hosts = fd >= 0 && write(fd, "127.0.0.1 one\n", 14) == 14 && fchmod(fd, 0644) == 0 &&
		    unshare(CLONE_NEWNS) == 0 &&
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		    mount(path, "/etc/hosts", NULL, MS_BIND, NULL) == 0;
	unlink(path);
	close(fd);
}

static void run_all(const char *who)
{
	tap_note("as %s", who);
	start_servers();
	test_loopback();
	test_ports();
	test_limits();
	test_expose();
	test_names();
	kill(servers, SIGKILL);
	waitpid(servers, NULL, 0);
}

int main(void)
{
	bool root = geteuid() == 0;

	if (root)
		make_hosts();
	run_all(root ? "root" : "a user");
	if (root) {
		if (setgroups(0, NULL) < 0 || setresgid(1000, 1000, 1000) < 0 ||
		    setresuid(1000, 1000, 1000) < 0)
			abort();
		prctl(PR_SET_DUMPABLE, 1); /* so that /proc is ours */
		run_all("uid 1000");
	}
	return tap_done();
}
