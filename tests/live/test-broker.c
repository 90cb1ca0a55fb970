/* SPDX-License-Identifier: MIT */
/*
 * The broker between a private network and this host's loopback: as root, then as uid 1000.
 * Whether somebody was reached is counted by the servers.
 */
#include "netbox-host.h"

#include <sys/epoll.h>

enum { MANY = 200, BIG = 8 << 20 };

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

static void test_loopback(void)
{
	struct plan_net net = everything();
	struct netbox box = {0};

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
	struct netbox box = {0};
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
	int fds[6], errors[6], error = 0;

	(void)data;
	for (int i = 0; i < 6; i++) {
		fds[i] = stream(AF_INET, 0);
		errors[i] = netbox_connect(fds[i], AF_INET, &to);
	}
	netbox_say(errors[3] == 0 && errors[4] == ENETUNREACH && errors[5] == ENETUNREACH,
		   "four at once, not five");
	close(fds[0]);
	for (int i = 0; i < 30 && (error = visit(AF_INET, &to)) != 0; i++)
		usleep(100000);
	netbox_say(error == 0, "when one ends another may begin: %s", strerror(error));
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
	struct netbox box = {0};

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

static void all(void)
{
	test_loopback();
	test_ports();
	test_limits();
}

int main(void)
{
	return as_both(all);
}
