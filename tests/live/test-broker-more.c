/* SPDX-License-Identifier: MIT */
/* The broker: ports that lead inside, names, and commands that mean harm. */
#include "netbox-host.h"

#include <netinet/tcp.h>
#include <sys/mount.h>
#include <sys/stat.h>

static bool own_hosts; /* a mount that only we see */

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
	struct netbox box = {0};
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
	struct netbox box = {0};
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

static size_t own_memory(void)
{
	size_t size = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file || fscanf(file, "%zu %zu", &size, &resident) != 2)
		abort();
	fclose(file);
	return resident * 4096;
}

static int open_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 4096; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static int most_fds;
static size_t most_memory;

static void measure(struct netbox *box, const char *order)
{
	(void)box, (void)order;
	most_fds = open_fds() > most_fds ? open_fds() : most_fds;
	most_memory = own_memory() > most_memory ? own_memory() : most_memory;
}

/* Ten thousand that are begun and dropped, of which some were told of and some not. */
static void begin_many(void)
{
	struct endpoint to = v4("127.0.0.1", echo_port), world = v4("192.0.2.1", 1);
	struct sockaddr_storage address;
	socklen_t len;

	for (int i = 0; i < 10000; i++) {
		struct endpoint *at = i % 3 == 2 ? &world : &to;
		int fd = stream(AF_INET, SOCK_NONBLOCK);

		world.port++;
		len = endpoint_write(at, AF_INET, &address);
		if (i % 2 == 0)
			netbox_tell(at, true, i % 4 == 0);
		if (i % 5 != 4)
			(void)!connect(fd, (void *)&address, len);
		close(fd);
		if (i % 1000 == 999)
			netbox_say(true, "!measure");
	}
}

/* Writes and never reads: FDS of them, as many as may be. */
static void never_read(int *fds, int count)
{
	struct endpoint to = v4("127.0.0.1", echo_port);
	static char block[65536];

	for (int i = 0; i < count; i++) {
		fds[i] = stream(AF_INET, 0);
		(void)netbox_connect(fds[i], AF_INET, &to);
		(void)fcntl(fds[i], F_SETFL, O_NONBLOCK);
	}
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < count; i++)
			while (send(fds[i], block, sizeof(block), MSG_NOSIGNAL) > 0)
				;
		usleep(10000);
	}
	netbox_say(true, "!measure");
}

static void one_byte_each(void)
{
	struct endpoint to = v4("127.0.0.1", echo_port);
	int fd = stream(AF_INET, 0), got = 0;
	char buf[4096];
	ssize_t n;

	(void)netbox_connect(fd, AF_INET, &to);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	for (int i = 0; i < 20000; i++)
		if (send(fd, "x", 1, MSG_NOSIGNAL) != 1)
			break;
	while (got < 20000 && (n = recv(fd, buf, sizeof(buf), 0)) > 0)
		got += (int)n;
	netbox_say(got == 20000, "segments of one byte: %d of 20000 came back", got);
	close(fd);
}

static void harm_inside(void *data)
{
	struct endpoint to = v4("127.0.0.1", echo_port);
	int fds[40];

	(void)data;
	netbox_say(visit(AF_INET, &to) == 0, "before");
	begin_many();
	usleep(6000000); /* what never came is expected no more */
	netbox_say(visit(AF_INET, &to) == 0, "after ten thousand connects all is well");
	never_read(fds, 40);
	netbox_say(visit(AF_INET, &to) == 0, "beside 40 that write and never read, too");
	one_byte_each();
	for (int i = 0; i < 40; i++)
		close(fds[i]);
	usleep(200000);
	netbox_say(visit(AF_INET, &to) == 0, "and after them");
}

static void test_harm(void)
{
	struct plan_net net = everything();
	struct netbox box = {.order = measure};
	int fds = open_fds();
	size_t memory = own_memory();

	net.connections = 64;
	most_fds = 0;
	most_memory = 0;
	run_box(&box, &net, harm_inside);
	tap_ok(most_fds < fds + 700, "descriptors are bounded: %d more at most", most_fds - fds);
	tap_ok(most_memory < memory + (8 << 20), "so is memory: %zu KiB more at most",
	       (most_memory - memory) >> 10);
	tap_eq_int(open_fds(), fds, "nothing is left open");
}

static void narrow(struct netbox *box, const char *rule)
{
	struct err err = {0};
	unsigned gone = 0;

	if (rule[0] == '+')
		tap_ok(broker_widen(box->broker, rule + 1, &err) == 0, "widened %s", err.message);
	else
		tap_ok(broker_narrow(box->broker, rule, &gone, &err) == 0 && gone > 0,
		       "narrowed %s", err.message);
}

static void narrow_inside(void *data)
{
	struct endpoint one = v4("127.0.0.1", echo_port), other = v6("::1", echo_port);
	int fd = stream(AF_INET, 0), kept = stream(AF_INET6, 0);
	char byte;

	(void)data;
	netbox_say(netbox_connect(fd, AF_INET, &one) == 0 && word(fd), "a rule holds");
	netbox_say(netbox_connect(kept, AF_INET6, &other) == 0 && word(kept), "so does another");
	netbox_say(true, "!127.0.0.1:%u", echo_port);
	netbox_say(recv(fd, &byte, 1, 0) < 0 && errno == ECONNRESET,
		   "when it goes its connections are reset");
	netbox_say(word(kept), "those of others are not");
	netbox_say(visit(AF_INET, &one) == ECONNREFUSED, "and none is made");
	netbox_say(true, "!+127.0.0.1:%u", echo_port);
	netbox_say(visit(AF_INET, &one) == 0, "until it is allowed again");
	close(fd);
	close(kept);
}

static void test_narrow(void)
{
	struct plan_net net = everything();
	struct netbox box = {.order = narrow};
	char rule[64];

	net.loopback = false;
	snprintf(rule, sizeof(rule), "127.0.0.1:%u", echo_port);
	strv_add(&net.hosts, rule);
	snprintf(rule, sizeof(rule), "[::1]:%u", echo_port);
	strv_add(&net.hosts, rule);
	run_box(&box, &net, narrow_inside);
	strv_release(&net.hosts);
}

static void old_inside(void *data)
{
	struct endpoint four = v4("127.0.0.1", echo_port), six = v6("::1", echo_port);
	struct endpoint far = v4("192.0.2.1", 80);

	(void)data;
	netbox_say(visit(AF_INET, &four) == 0, "with sockets of IPv4 alone it is reached");
	netbox_say(visit(AF_INET, &far) == ENETUNREACH, "and what is refused is refused");
	netbox_say(visit(AF_INET6, &six) != 0, "IPv6 leads nowhere");
}

static void test_without_v6(void)
{
	struct plan_net net = everything();
	struct netbox box = {0};

	netbox_family = AF_INET;
	run_box(&box, &net, old_inside);
	netbox_family = AF_INET6;
}

static void all(void)
{
	test_without_v6();
	test_expose();
	test_names();
	test_narrow();
	test_harm();
}

int main(void)
{
	if (geteuid() == 0)
		make_hosts();
	return as_both(all);
}
