/* SPDX-License-Identifier: MIT */
/* dns - questions and answers as they are on the wire. Pure; every byte may be a lie. */
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/rules.h"

enum dns_code {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
	DNS_BADVERS = 16, /* only to who sent OPT */
};
enum dns_type { DNS_A = 1, DNS_PTR = 12, DNS_AAAA = 28, DNS_OPT = 41 };
enum dns_class { DNS_IN = 1 };

enum {
	DNS_HEADER = 12,
	DNS_NAME_MAX = 255,                           /* on the wire */
	DNS_HEAD_MAX = DNS_HEADER + DNS_NAME_MAX + 4, /* header and question */
	DNS_PLAIN_MAX = 512,                          /* of a datagram, without OPT */
};

struct dns_question {
	uint16_t id, type, class;
	bool recursion;
	char name[NAME_CANONICAL_MAX]; /* canonical; "" when it is no host name */
	size_t question_len; /* of its bytes after the header, as they were sent; 0: none is there */
	bool has_opt;
	uint8_t version;  /* of EDNS: we know 0 */
	uint16_t payload; /* how much the asker takes; 512 without OPT */
};

/* 0; -EBADMSG: nothing that can be answered; -EINVAL: deserves FORMERR; -ENOTSUP: NOTIMP.
 * With the last two *ret is good for dns_answer(). */
int dns_parse(const uint8_t *message, size_t len, struct dns_question *ret);
/* The answer to Q, whose MESSAGE is that of dns_parse(): only the header and the question of it
 * are read. ADDRESS: 4 or 16 bytes for A or AAAA, or NULL for none; PTR: a canonical name, or
 * NULL. Returns its length; never more than SIZE (≥ 512): what does not fit is said to be cut. */
size_t dns_answer(const uint8_t *message, const struct dns_question *q, enum dns_code code,
		  const uint8_t *address, const char *ptr, uint8_t *ret, size_t size);
/* The address that a name below in-addr.arpa or ip6.arpa asks about. False: it does not. */
bool dns_reverse(const char *name, struct in6_addr *ret);
