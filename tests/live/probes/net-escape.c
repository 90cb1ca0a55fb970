/* SPDX-License-Identifier: MIT */
/*
 * net-escape - net-escape WAY ADDRESS PORT: one attempt to get a packet out. Prints "WAY=ok" when
 * the kernel took it, else "WAY=NUMBER CALL". What it says is never the verdict: the wire is.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define SOL_SCTP_PROTOCOL 132
#define MPTCP_PROTOCOL    262
#define DCCP_PROTOCOL     33

static const char *way;
static struct sockaddr_storage to;
static socklen_t to_len;

static int done(long r, const char *call)
{
	if (r < 0)
		printf("%s=%d %s\n", way, errno, call);
	else
		printf("%s=ok\n", way);
	return r < 0;
}

/* "fe80::1%2": the zone is the number, or the name, of an interface. */
static void read_address(char *text, int port)
{
	struct sockaddr_in *v4 = (void *)&to;
	struct sockaddr_in6 *v6 = (void *)&to;
	char *zone = strchr(text, '%');

	if (zone)
		*zone++ = 0;
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		to_len = sizeof(*v4);
	} else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		v6->sin6_scope_id = zone ? (atoi(zone) ? (unsigned)atoi(zone)
						       : if_nametoindex(zone))
					 : 0;
		to_len = sizeof(*v6);
	} else {
		exit(2);
	}
}

static int stream(int protocol, int type)
{
	struct timeval limit = {.tv_sec = 2};
	int fd = socket(to.ss_family, type, protocol);

	if (fd < 0)
		return done(-1, "socket");
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	return done(connect(fd, (void *)&to, to_len), "connect");
}

static int datagram_socket(int protocol)
{
	int fd = socket(to.ss_family, SOCK_DGRAM, protocol), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
	return fd;
}

static int send_message(int many)
{
	int fd = datagram_socket(0);
	struct iovec iov = {"secret", 6};
	struct mmsghdr m = {
		.msg_hdr = {
			.msg_name = &to, .msg_namelen = to_len, .msg_iov = &iov, .msg_iovlen = 1}};

	if (fd < 0)
		return done(-1, "socket");
	return many ? done(sendmmsg(fd, &m, 1, 0), "sendmmsg")
		    : done(sendmsg(fd, &m.msg_hdr, 0), "sendmsg");
}

static int send_connected(void)
{
	int fd = datagram_socket(0);

	if (fd < 0 || connect(fd, (void *)&to, to_len) < 0)
		return done(-1, fd < 0 ? "socket" : "connect");
	return done(send(fd, "secret", 6, 0), "send");
}

/* Connected to something that is its own, let go, and then somewhere else without a connect. */
static int send_from_connected(void)
{
	struct sockaddr none = {.sa_family = AF_UNSPEC};
	struct sockaddr_in own = {.sin_family = AF_INET,
				  .sin_port = htons(9),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = datagram_socket(0);

	if (fd < 0 || connect(fd, (void *)&own, sizeof(own)) < 0 ||
	    connect(fd, &none, sizeof(none)) < 0)
		return done(-1, fd < 0 ? "socket" : "connect");
	return done(sendto(fd, "secret", 6, 0, (void *)&to, to_len), "sendto");
}

static int fast_open(void)
{
	int fd = socket(to.ss_family, SOCK_STREAM, 0);

	if (fd < 0)
		return done(-1, "socket");
	return done(sendto(fd, "secret", 6, MSG_FASTOPEN, (void *)&to, to_len), "sendto");
}

/* Fast open by sendmsg, which nobody looks into. */
static int fast_open_message(void)
{
	int fd = socket(to.ss_family, SOCK_STREAM, 0);
	struct iovec iov = {"secret", 6};
	struct msghdr m = {
		.msg_name = &to, .msg_namelen = to_len, .msg_iov = &iov, .msg_iovlen = 1};

	if (fd < 0)
		return done(-1, "socket");
	return done(sendmsg(fd, &m, MSG_FASTOPEN), "sendmsg");
}

static int ping(int type)
{
	struct icmphdr echo = {.type = to.ss_family == AF_INET ? ICMP_ECHO : 128};
	int fd = socket(to.ss_family, type,
			to.ss_family == AF_INET ? IPPROTO_ICMP : IPPROTO_ICMPV6);

	if (fd < 0)
		return done(-1, "socket");
	if (type == SOCK_RAW && to.ss_family == AF_INET)
		echo.checksum = (uint16_t)~ICMP_ECHO;
	((struct sockaddr_in *)&to)->sin_port = 0;
	return done(sendto(fd, &echo, sizeof(echo), 0, (void *)&to, to_len), "sendto");
}

/* Bound to an interface or with a route of its own in the header. */
static int with_option(int level, int name, const void *value, socklen_t len)
{
	int fd = datagram_socket(0);

	if (fd < 0)
		return done(-1, "socket");
	if (setsockopt(fd, level, name, value, len) < 0)
		return done(-1, "setsockopt");
	return done(sendto(fd, "secret", 6, 0, (void *)&to, to_len), "sendto");
}

static int source_route(void)
{
	unsigned char route[] = {131, 7, 4, 0, 0, 0, 0, 0};

	memcpy(route + 3, &((struct sockaddr_in *)&to)->sin_addr, 4);
	return with_option(IPPROTO_IP, IP_OPTIONS, route, sizeof(route));
}

static int send_one(int protocol)
{
	return done(sendto(datagram_socket(protocol), "secret", 6, 0, (void *)&to, to_len),
		    "sendto");
}

static int with_stream(int protocol)
{
	return stream(protocol, protocol == DCCP_PROTOCOL ? 6 : SOCK_STREAM);
}

static int connected(int let_go)
{
	return let_go ? send_from_connected() : send_connected();
}

static int fast(int by_message)
{
	return by_message ? fast_open_message() : fast_open();
}

static int by_header(int device)
{
	return device ? with_option(SOL_SOCKET, SO_BINDTODEVICE, "cable0", 7) : source_route();
}

static const struct {
	const char *name;
	int (*fn)(int);
	int argument;
} ways[] = {
	{"tcp", with_stream, 0},
	{"mptcp", with_stream, MPTCP_PROTOCOL},
	{"sctp", with_stream, SOL_SCTP_PROTOCOL},
	{"dccp", with_stream, DCCP_PROTOCOL},
	{"udp", send_one, 0},
	{"udplite", send_one, 136},
	{"udp-sendmsg", send_message, 0},
	{"udp-sendmmsg", send_message, 1},
	{"udp-connected", connected, 0},
	{"udp-from-connected", connected, 1},
	{"fast-open", fast, 0},
	{"fast-open-sendmsg", fast, 1},
	{"ping", ping, SOCK_DGRAM},
	{"raw", ping, SOCK_RAW},
	{"bound-to-device", by_header, 1},
	{"source-route", by_header, 0},
};

int main(int argc, char **argv)
{
	way = argc > 1 ? argv[1] : "";
	if (argc != 4)
		return 2;
	if (strcmp(way, "family") == 0) /* made, and never used */
		return done(socket(atoi(argv[2]), atoi(argv[3]), 0), "socket");
	read_address(argv[2], atoi(argv[3]));
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (strcmp(way, ways[i].name) == 0)
			return ways[i].fn(ways[i].argument);
	return 2;
}
