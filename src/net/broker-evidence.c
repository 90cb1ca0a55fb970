/* SPDX-License-Identifier: MIT */
/*
 * Datagrams that went nowhere. Inside every address is local, so the kernel says "port
 * unreachable" about each that nobody receives, with the head of it; we listen to that. It
 * shows what no call told of (sendmsg), and decides nothing.
 */
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "net/broker-impl.h"

enum {
	IP4_MIN = 20,
	IP6_LEN = 40,
	ICMP_LEN = 8,
	UDP_LEN = 8,
	MESSAGES = 32, /* in one go; the socket's buffer drops what is too much */
	BUFFER = 16384,
	RAW_ICMP_FILTER = 1, /* of <linux/icmp.h>, which the C library's headers do not bear */
};

static uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* The length of an IPv4 header without doubt, or 0. */
static size_t ip4_header(const uint8_t *p, size_t len)
{
	size_t header = len >= IP4_MIN && p[0] >> 4 == 4 ? (p[0] & 15) * 4u : 0;

	return header >= IP4_MIN && header <= len ? header : 0;
}

static bool parse4(const uint8_t *p, size_t len, struct endpoint *ret)
{
	size_t outer = ip4_header(p, len), inner;

	if (outer == 0 || p[9] != IPPROTO_ICMP || len < outer + ICMP_LEN)
		return false;
	p += outer;
	len -= outer;
	if (p[0] != ICMP_DEST_UNREACH || p[1] != ICMP_PORT_UNREACH)
		return false;
	p += ICMP_LEN;
	len -= ICMP_LEN;
	inner = ip4_header(p, len);
	/* A fragment after the first has no ports. */
	if (inner == 0 || p[9] != IPPROTO_UDP || (be16(p + 6) & 0x1fff) != 0 ||
	    len < inner + UDP_LEN)
		return false;
	*ret = (struct endpoint){.address.s6_addr = {[10] = 0xff, [11] = 0xff},
				 .port = be16(p + inner + 2)};
	memcpy(&ret->address.s6_addr[12], p + 16, 4);
	return true;
}

static bool parse6(const uint8_t *p, size_t len, struct endpoint *ret)
{
	if (len < ICMP_LEN + IP6_LEN + UDP_LEN || p[0] != ICMP6_DST_UNREACH ||
	    p[1] != ICMP6_DST_UNREACH_NOPORT)
		return false;
	p += ICMP_LEN;
	/* Extension headers are nothing that a socket of the command sends by itself. */
	if (p[0] >> 4 != 6 || p[6] != IPPROTO_UDP)
		return false;
	ret->port = be16(p + IP6_LEN + 2);
	memcpy(&ret->address, p + 24, 16);
	return true;
}

bool unreachable_parse(const uint8_t *message, size_t len, int family, struct endpoint *ret)
{
	struct endpoint e = {0};

	if (!(family == AF_INET ? parse4 : parse6)(message, len, &e))
		return false;
	*ret = e;
	return true;
}

static void receive(struct broker *b, int family)
{
	struct poll_entry *entry = &b->evidence[family == AF_INET6];
	uint8_t message[512];
	struct endpoint to;

	for (int i = 0; i < MESSAGES; i++) {
		ssize_t n = recv(entry->fd, message, sizeof(message), MSG_DONTWAIT);

		if (n < 0)
			return;
		if (unreachable_parse(message, (size_t)n, family, &to) &&
		    !endpoint_is_loopback(&to))
			broker_refuse(b, REFUSED_UDP, &to, names_find(&b->names, &to.address), NULL,
				      NULL);
	}
}

static void on_icmp(void *data, uint32_t events)
{
	(void)events;
	receive(data, AF_INET);
}

static void on_icmp6(void *data, uint32_t events)
{
	(void)events;
	receive(data, AF_INET6);
}

void evidence_take(struct broker *b, int fd, int family)
{
	struct poll_entry *entry = &b->evidence[family == AF_INET6];

	if (entry->fd >= 0) {
		fd_close(fd);
		return;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){BUFFER}, sizeof(int));
	if (family == AF_INET) {
		uint32_t filter = ~(1u << ICMP_DEST_UNREACH); /* what is set is not wanted */

		(void)setsockopt(fd, SOL_RAW, RAW_ICMP_FILTER, &filter, sizeof(filter));
	} else {
		struct icmp6_filter filter;

		ICMP6_FILTER_SETBLOCKALL(&filter);
		ICMP6_FILTER_SETPASS(ICMP6_DST_UNREACH, &filter);
		(void)setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof(filter));
	}
	*entry = (struct poll_entry){fd, EPOLLIN, family == AF_INET ? on_icmp : on_icmp6, b};
	if (poller_add(b->poller, entry) < 0)
		entry->fd = fd_close(fd);
}

void evidence_free(struct broker *b)
{
	for (int i = 0; i < 2; i++) {
		if (b->evidence[i].fd < 0)
			continue;
		poller_remove(b->poller, &b->evidence[i]);
		b->evidence[i].fd = fd_close(b->evidence[i].fd);
	}
}
