/* SPDX-License-Identifier: MIT */
/*
 * A brokered sandbox without a broker: shows that its sockets arrive, and what they are good for.
 *
 *     driver-gateway run|stand [--refuse] [--engine E] [--spec TOML] [--preset P] [--workspace DIR] REPORT ARGV...
 *
 * Listens inside at 10.9.8.7:443, [2001:db8::7]:443 and 127.0.0.1:4430, answers each connection
 * with the address that it was meant for, and each datagram to 198.18.0.1:53 with itself. What
 * happens is written to REPORT, a line for each event. The first connection makes it ask for
 * another batch. --refuse: the gateway does not open.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/run.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "engine/engine.h"
#include "engine/stand.h"
#include "plan/plan.h"
#include "result/event.h"
#include "result/result.h"
#include "warden/errand.h"
#include "warden/main.h"

enum { FDS_MAX = 256 };

static struct {
	FILE *report;
	struct loop *loop;
	int (*more)(void *data);
	void *more_data;
	bool refuses, asked;
	int fds[FDS_MAX];
	size_t len, spare;
} gate;

static void note(const char *what, const char *detail)
{
	fprintf(gate.report, "%s %s\n", what, detail);
	fflush(gate.report);
}

static void on_connection(void *data, short revents)
{
	struct sockaddr_in6 wanted;
	socklen_t size = sizeof(wanted);
	char address[INET6_ADDRSTRLEN], line[128];
	int fd = accept4(*(int *)data, NULL, NULL, SOCK_CLOEXEC);

	(void)revents;
	if (fd < 0 || getsockname(fd, (struct sockaddr *)&wanted, &size) < 0)
		return;
	inet_ntop(AF_INET6, &wanted.sin6_addr, address, sizeof(address));
	snprintf(line, sizeof(line), "%s %u", address, ntohs(wanted.sin6_port));
	note("accepted", line);
	(void)!write(fd, line, strlen(line));
	fd_close(fd);
	if (!gate.asked && gate.more(gate.more_data) < 0)
		note("refused", "more");
	gate.asked = true;
}

static void on_datagram(void *data, short revents)
{
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	char buf[512];
	ssize_t n = recvfrom(*(int *)data, buf, sizeof(buf), 0, (struct sockaddr *)&from, &size);

	(void)revents;
	if (n < 0)
		return;
	note("datagram", "");
	(void)sendto(*(int *)data, buf, (size_t)n, 0, (struct sockaddr *)&from, size);
}

/* What the kernel says of datagrams that nobody takes holds their head. */
static void on_icmp(void *data, short revents)
{
	unsigned char buf[512];
	char address[INET_ADDRSTRLEN], line[64];
	ssize_t n = recv(*(int *)data, buf, sizeof(buf), 0);
	uint16_t port;

	(void)revents;
	if (n < 20 + 8 + 20 + 8 || buf[20] != ICMP_DEST_UNREACH || buf[20 + 8 + 9] != IPPROTO_UDP)
		return;
	inet_ntop(AF_INET, buf + 20 + 8 + 16, address, sizeof(address));
	memcpy(&port, buf + 20 + 8 + 20 + 2, sizeof(port));
	snprintf(line, sizeof(line), "%s %u", address, ntohs(port));
	note("unreachable", line);
}

static void watch(int *fd, loop_fn *fn)
{
	if (loop_add(gate.loop, *fd, POLLIN, fn, fd) < 0)
		exit(3);
}

static void listen_at(int *fd, const char *address, unsigned port)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	int on = 1;

	inet_pton(AF_INET6, address, &at.sin6_addr);
	(void)setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	(void)setsockopt(*fd, IPPROTO_IPV6, 78 /* IPV6_FREEBIND */, &on, sizeof(on));
	if (bind(*fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(*fd, 16) < 0) {
		note("cannot listen", strerror(errno));
		return;
	}
	watch(fd, on_connection);
}

static void answer_at(int *fd)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(0xc6120001)};

	if (bind(*fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		note("cannot bind", strerror(errno));
	else
		watch(fd, on_datagram);
}

static int option(int fd, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	(void)getsockopt(fd, SOL_SOCKET, name, &value, &size);
	return value;
}

static int gate_open(void *data, struct loop *loop, int (*more)(void *more_data), void *more_data,
		     struct err *err)
{
	(void)data;
	if (gate.refuses)
		return err_set(err, ERR_SYSTEM, -EADDRINUSE, "the gateway does not open");
	gate.loop = loop;
	gate.more = more;
	gate.more_data = more_data;
	note("opened", "");
	return 0;
}

static void gate_take(void *data, const int *fds, size_t len)
{
	static const char *const places[] = {"::ffff:10.9.8.7", "2001:db8::7", "::ffff:127.0.0.1"};
	bool first = gate.len == 0;
	char line[64];
	size_t streams = 0;

	(void)data;
	for (size_t i = 0; i < len && gate.len < FDS_MAX; i++) {
		int *fd = &gate.fds[gate.len++];

		*fd = fds[i];
		if (option(*fd, SO_TYPE) == SOCK_DGRAM)
			answer_at(fd);
		else if (option(*fd, SO_PROTOCOL) == IPPROTO_ICMP)
			watch(fd, on_icmp);
		else if (option(*fd, SO_TYPE) == SOCK_STREAM && first && streams < 3)
			listen_at(fd, places[streams], streams == 2 ? 4430 : 443);
		streams += option(*fd, SO_TYPE) == SOCK_STREAM;
	}
	snprintf(line, sizeof(line), "%zu of them streams %zu", len, streams);
	note("took", line);
}

static void gate_close(void *data)
{
	(void)data;
	for (size_t i = 0; i < gate.len; i++) {
		for (size_t k = 0; k < gate.loop->len; k++)
			if (gate.loop->fds[k].fd == gate.fds[i])
				loop_remove(gate.loop, gate.fds[i]);
		fd_close(gate.fds[i]);
	}
	gate.len = 0;
	note("closed", "");
}

static const struct gateway gateway = {.open = gate_open, .take = gate_take, .close = gate_close};

/* -- A sandbox that stays up, with one errand ------------------------------ */

static int status = -1;

static void on_terminal(void *data, void *own, int master)
{
	(void)data;
	(void)own;
	fd_close(master);
}

static void on_stopped(void *data, void *own)
{
	(void)data;
	(void)own;
}

static void on_ended(void *data, void *own, struct result *result, const struct err *failed)
{
	(void)own;
	status = failed ? 125 : result_status(result);
	((struct loop *)data)->done = true;
}

static void on_gone(void *data)
{
	((struct loop *)data)->done = true;
}

static int stand(struct plan *plan, char *const *argv, struct err *err)
{
	struct loop loop = {0};
	const struct stand_ear ear = {.terminal = on_terminal,
				      .stopped = on_stopped,
				      .ended = on_ended,
				      .gone = on_gone,
				      .data = &loop};
	const struct errand errand = {.id = 1,
				      .argv = argv,
				      .env = plan->env.items,
				      .cwd = plan->cwd,
				      .fds = {0, 1, 2},
				      .notes = -1,
				      .umask = 022,
				      .timeout_ms = UINT64_MAX,
				      .cpu_ms = UINT64_MAX,
				      .memory = UINT64_MAX,
				      .pids = UINT64_MAX};
	struct stand *s = NULL;
	int r;

	plan_share(plan);
	r = stand_open(plan, &loop, &ear, &gateway, &s, err);
	if (r == 0)
		r = stand_start(s, &errand, NULL, NULL, err);
	if (r == 0)
		loop_run(&loop);
	stand_close(s, NULL, NULL);
	loop_release(&loop);
	return r;
}

static int run(struct plan *plan, struct err *err)
{
	const struct stdio stdio = {.fd = {0, 1, 2}};
	struct result result = {0};
	int r = engine_run(plan, &stdio, &(struct attendants){.gateway = &gateway}, &result, err);

	status = result_status(&result);
	events_release(&result.events);
	return r;
}

int main(int argc, char **argv)
{
	struct run_request request = {.ask.no_observe = true};
	struct run prepared = {0};
	struct err err = {0};
	bool stands;
	int i, r;

	if (argc > 1 && strcmp(argv[1], WARDEN_OPTION) == 0)
		return warden_main(argc - 2, argv + 2, NULL);
	if (argc < 2)
		return 3;
	stands = strcmp(argv[1], "stand") == 0;
	for (i = 2; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		if (strcmp(argv[i], "--refuse") == 0)
			gate.refuses = true;
		else if (strcmp(argv[i], "--engine") == 0)
			request.ask.engine = argv[++i];
		else if (strcmp(argv[i], "--spec") == 0)
			request.ask.spec = argv[++i];
		else if (strcmp(argv[i], "--preset") == 0)
			request.ask.preset = argv[++i];
		else if (strcmp(argv[i], "--workspace") == 0)
			request.workspace = argv[++i];
		else
			return 3;
	}
	if (i + 1 >= argc || !(gate.report = fopen(argv[i], "we")))
		return 3;
	request.args = argv + i + 1;
	r = run_prepare(&prepared, &request, &err);
	/* Nobody watches here. */
	for (size_t n = 0; r == 0 && n < prepared.plan->ops_len; n++)
		prepared.plan->ops[n].flags &= ~(unsigned)(OP_OBSERVE | OP_BROKERED);
	if (r == 0)
		r = stands ? stand(prepared.plan, request.args, &err) : run(prepared.plan, &err);
	if (r < 0) {
		note("error", err.message);
		status = 125;
	}
	run_release(&prepared);
	fclose(gate.report);
	return status;
}
