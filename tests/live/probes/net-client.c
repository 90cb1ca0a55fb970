/* SPDX-License-Identifier: MIT */
/*
 * net-client - net-client WAY HOST PORT: reaches a server in one of many ways, says "ping" and
 * prints what it hears. A static program that knows nothing of a sandbox.
 *
 * Prints "WAY=ok ANSWER" and ends with 0, or "WAY=NUMBER WHAT" (errno and the call) and ends with 1.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *way;
static struct sockaddr_storage to;
static socklen_t to_len;

static void fail(const char *what)
{
	printf("%s=%d %s\n", way, errno, what);
	exit(1);
}

static void check(int good, const char *what)
{
	if (!good)
		fail(what);
}

static void resolve(const char *host, const char *port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	int r = getaddrinfo(host, port, &hints, &list);

	if (r) {
		printf("%s=0 getaddrinfo: %s\n", way, gai_strerror(r));
		exit(1);
	}
	memcpy(&to, list->ai_addr, list->ai_addrlen);
	to_len = list->ai_addrlen;
}

static int new_socket(int flags)
{
	int fd = socket(to.ss_family, SOCK_STREAM | flags, 0);

	check(fd >= 0, "socket");
	return fd;
}

/* The whole conversation, on a socket that is connected. */
static void talk(int fd)
{
	char line[256];
	size_t len = 0;
	ssize_t n;

	if (fcntl(fd, F_GETFL) & O_NONBLOCK)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	check(write(fd, "ping\n", 5) == 5, "write");
	while (len < sizeof(line) - 1 && (n = read(fd, line + len, sizeof(line) - 1 - len)) > 0) {
		len += (size_t)n;
		if (memchr(line, '\n', len))
			break;
	}
	check(len > 0, "read");
	line[len] = 0;
	line[strcspn(line, "\n")] = 0;
	printf("%s=ok %s\n", way, line);
	exit(0);
}

static void dial(int fd)
{
	check(connect(fd, (void *)&to, to_len) == 0, "connect");
}

static void finish(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	check(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0, "SO_ERROR");
	errno = error;
	check(error == 0, "later");
}

static void blocking(void)
{
	int fd = new_socket(0);

	dial(fd);
	talk(fd);
}

static void with_poll(void)
{
	int fd = new_socket(SOCK_NONBLOCK);
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	if (connect(fd, (void *)&to, to_len) < 0) {
		check(errno == EINPROGRESS, "connect");
		check(poll(&p, 1, 10000) == 1, "poll");
		finish(fd);
	}
	talk(fd);
}

static void with_select(void)
{
	int fd = new_socket(SOCK_NONBLOCK);
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	if (connect(fd, (void *)&to, to_len) < 0) {
		check(errno == EINPROGRESS, "connect");
		check(select(fd + 1, NULL, &set, NULL, NULL) == 1, "select");
		finish(fd);
	}
	talk(fd);
}

/* Registered first, edge-triggered, as event loops do. */
static void epoll_before(void)
{
	int fd = new_socket(SOCK_NONBLOCK), set = epoll_create1(0);
	struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.fd = fd}, got = {0};

	check(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) == 0, "epoll_ctl");
	epoll_wait(set, &got, 1, 0);
	if (connect(fd, (void *)&to, to_len) < 0) {
		check(errno == EINPROGRESS, "connect");
		do
			check(epoll_wait(set, &got, 1, 10000) == 1, "epoll_wait");
		while (!(got.events & EPOLLOUT));
		check(got.data.fd == fd, "epoll data");
		finish(fd);
	}
	check(write(fd, "ping\n", 5) == 5, "write");
	do
		check(epoll_wait(set, &got, 1, 10000) == 1, "epoll_wait for the answer");
	while (!(got.events & EPOLLIN));
	check(write(fd, "", 0) == 0, "still open");
	fcntl(fd, F_SETFL, 0);
	talk(fd);
}

static void dup_before(void)
{
	int fd = new_socket(0), copy = dup(fd);

	dial(fd);
	close(fd);
	talk(copy);
}

static void options(void)
{
	int fd = new_socket(0), on = 1, ms = 4321, got = 0;
	struct timeval limit = {.tv_sec = 7}, kept = {0};
	socklen_t len = sizeof(got), limit_len = sizeof(kept);

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	fcntl(fd, F_SETFD, 0);
	dial(fd);
	errno = 0;
	check(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &got, &len) == 0 && got == 1,
	      "SO_KEEPALIVE");
	check(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &got, &len) == 0 && got == 1, "TCP_NODELAY");
	check(getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &got, &len) == 0 && got == ms,
	      "TCP_USER_TIMEOUT");
	check(getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kept, &limit_len) == 0 && kept.tv_sec == 7,
	      "SO_RCVTIMEO");
	check(fcntl(fd, F_GETFD) == 0, "no FD_CLOEXEC");
	check(!(fcntl(fd, F_GETFL) & O_NONBLOCK), "no O_NONBLOCK");
	talk(fd);
}

static void child_connects(void)
{
	int fd = new_socket(0), status;
	pid_t pid = fork();

	if (pid == 0) {
		dial(fd);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	errno = 0;
	check(status == 0, "the child's connect");
	talk(fd);
}

static void *thread(void *data)
{
	dial(*(int *)data);
	return NULL;
}

static void in_thread(void)
{
	int fd = new_socket(0);
	pthread_t t;

	pthread_create(&t, NULL, thread, &fd);
	pthread_join(t, NULL);
	talk(fd);
}

/* An inherited, connected descriptor survives exec. */
static void after_exec(void)
{
	int fd = new_socket(0);
	char number[16];

	dial(fd);
	snprintf(number, sizeof(number), "%d", fd);
	execl("/proc/self/exe", "net-client", "inherited", number, NULL);
	fail("exec");
}

static void names_of_both_ends(void)
{
	int fd = new_socket(0);
	struct sockaddr_storage peer = {0}, own = {0};
	socklen_t peer_len = sizeof(peer), own_len = sizeof(own);

	dial(fd);
	check(getpeername(fd, (void *)&peer, &peer_len) == 0, "getpeername");
	errno = 0;
	check(peer_len == to_len && peer.ss_family == to.ss_family, "family of the peer");
	if (to.ss_family == AF_INET)
		check(memcmp(&peer, &to, 8) == 0, "the peer is the one that was wanted");
	else
		check(memcmp(&((struct sockaddr_in6 *)&peer)->sin6_addr,
			     &((struct sockaddr_in6 *)&to)->sin6_addr, 16) == 0,
		      "the peer is the one that was wanted");
	check(getsockname(fd, (void *)&own, &own_len) == 0 && own.ss_family == to.ss_family,
	      "getsockname");
	check(connect(fd, (void *)&to, to_len) < 0 && errno == EISCONN,
	      "a second connect: EISCONN");
	talk(fd);
}

static void bound_before(void)
{
	int fd = new_socket(0);
	struct sockaddr_storage any = {.ss_family = to.ss_family};

	check(bind(fd, (void *)&any, to_len) == 0, "bind");
	dial(fd);
	talk(fd);
}

/* IPv4 by a socket of IPv6. */
static void mapped(void)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

	memcpy(&v4, &to, sizeof(v4));
	check(v4.sin_family == AF_INET, "an IPv4 address is needed");
	v6.sin6_port = v4.sin_port;
	memset(v6.sin6_addr.s6_addr + 10, 0xff, 2);
	memcpy(v6.sin6_addr.s6_addr + 12, &v4.sin_addr, 4);
	memcpy(&to, &v6, sizeof(v6));
	to_len = sizeof(v6);
	blocking();
}

/* The first message of both directions is its end: what was sent before arrives. */
static void half_closed(void)
{
	int fd = new_socket(0);
	char rest[256];
	ssize_t n, all = 0;

	dial(fd);
	check(write(fd, "ping\n", 5) == 5, "write");
	check(shutdown(fd, SHUT_WR) == 0, "shutdown");
	while ((n = read(fd, rest + all, sizeof(rest) - 1 - (size_t)all)) > 0)
		all += n;
	check(n == 0 && all > 0, "the answer, and then the end");
	rest[all] = 0;
	rest[strcspn(rest, "\n")] = 0;
	printf("%s=ok %s\n", way, rest);
	exit(0);
}

/* 16 MiB there and back, while both directions are full. */
static void volume(void)
{
	static unsigned char chunk[65536];
	const uint64_t total = 16 << 20;
	uint64_t sent = 0, got = 0, wrong = 0;
	int fd = new_socket(0), header = 1;

	dial(fd);
	check(write(fd, "ping\n", 5) == 5, "write");
	while (header) {
		char c;
		check(read(fd, &c, 1) == 1, "read");
		header = c != '\n';
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (got < total) {
		struct pollfd p = {.fd = fd, .events = POLLIN | (sent < total ? POLLOUT : 0)};
		check(poll(&p, 1, 20000) == 1, "poll");
		if (p.revents & POLLOUT) {
			size_t len = total - sent < sizeof(chunk) ? total - sent : sizeof(chunk);
			for (size_t i = 0; i < len; i++)
				chunk[i] = (unsigned char)((sent + i) * 31 >> 3);
			ssize_t n = write(fd, chunk, len);
			check(n > 0 || errno == EAGAIN, "write");
			sent += n > 0 ? (uint64_t)n : 0;
		}
		if (p.revents & (POLLIN | POLLHUP | POLLERR)) {
			ssize_t n = read(fd, chunk, sizeof(chunk));
			check(n > 0 || (n < 0 && errno == EAGAIN), "read");
			for (ssize_t i = 0; i < n; i++)
				wrong += chunk[i] != (unsigned char)((got + (uint64_t)i) * 31 >> 3);
			got += n > 0 ? (uint64_t)n : 0;
		}
	}
	errno = 0;
	check(wrong == 0, "every byte is the one that was sent");
	printf("%s=ok %llu\n", way, (unsigned long long)got);
	exit(0);
}

/* Connected, and then open until the input ends. */
static void hold(void)
{
	int fd = new_socket(0);
	char c;

	dial(fd);
	printf("%s=ok\n", way);
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	check(write(fd, "ping\n", 5) == 5 && read(fd, &c, 1) == 1, "still there");
	exit(0);
}

static const struct {
	const char *name;
	void (*fn)(void);
} ways[] = {
	{"blocking", blocking},         {"poll", with_poll},        {"select", with_select},
	{"epoll-before", epoll_before}, {"dup-before", dup_before}, {"options", options},
	{"child", child_connects},      {"thread", in_thread},      {"exec", after_exec},
	{"names", names_of_both_ends},  {"bound", bound_before},    {"mapped", mapped},
	{"half-closed", half_closed},   {"volume", volume},         {"hold", hold},
};

int main(int argc, char **argv)
{
	way = argc > 1 ? argv[1] : "";
	if (argc == 3 && strcmp(way, "inherited") == 0)
		talk(atoi(argv[2]));
	if (argc != 4)
		return 2;
	resolve(argv[2], argv[3]);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (strcmp(way, ways[i].name) == 0)
			ways[i].fn();
	return 2;
}
