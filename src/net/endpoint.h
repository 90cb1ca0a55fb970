/* SPDX-License-Identifier: MIT */
/*
 * endpoint - an address and a port. Pure.
 *
 * One form for both families, so that nothing is compared in two spellings: IPv4 is kept
 * as ::ffff:a.b.c.d, and printed as IPv4.
 */
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct endpoint {
	struct in6_addr address;
	uint16_t port; /* in host order */
};

#define ENDPOINT_TEXT_MAX 56 /* "[address]:port" and a NUL */

/* False for what is neither IPv4 nor IPv6, or too short. Zones are dropped. */
bool endpoint_read(const struct sockaddr_storage *from, size_t len, struct endpoint *ret);
/* As FAMILY has it; AF_INET only for IPv4. */
socklen_t endpoint_write(const struct endpoint *e, int family, struct sockaddr_storage *ret);
bool endpoint_is_v4(const struct endpoint *e);
bool endpoint_equal(const struct endpoint *a, const struct endpoint *b);
/* 127.0.0.0/8 and ::1; 0.0.0.0 and :: are what connect(2) takes for them. */
bool endpoint_is_loopback(const struct endpoint *e);
void endpoint_print(const struct endpoint *e, char ret[ENDPOINT_TEXT_MAX]); /* with the port */
/* Without the port and without brackets: "10.0.0.1", "fd00::1". */
void endpoint_print_address(const struct endpoint *e, char ret[ENDPOINT_TEXT_MAX]);
/* What a name must never lead to, whatever DNS says ("a loopback address"): loopback, link-local, metadata
 * services, multicast, IPv4 inside IPv6, NAT64, 6to4, Teredo, …; NULL: no reason. Private
 * networks (RFC 1918, unique local, carrier-grade NAT) are none: names of an intranet are what
 * people list. */
const char *endpoint_complaint(const struct endpoint *e);
