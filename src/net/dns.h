/* SPDX-License-Identifier: MIT */
/* dns - questions and answers as they are on the wire. Pure; every byte may be a lie. */
#pragma once
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
	DNS_REFUSED = 5
};
enum dns_type { DNS_A = 1, DNS_PTR = 12, DNS_AAAA = 28, DNS_OPT = 41 };

struct dns_question {
	uint16_t id, type, class;
	bool recursion;
	char name[NAME_CANONICAL_MAX]; /* canonical; "" when it is no host name */
	size_t question_len;           /* of its bytes after the header, as they were sent */
	bool has_opt;
	uint16_t payload; /* how much the asker takes; 512 without OPT */
};

/* 0; -EBADMSG: nothing that can be answered; -EINVAL: a header that deserves FORMERR (id is set). */
int dns_parse(const uint8_t *message, size_t len, struct dns_question *ret);
/* The answer to Q, whose MESSAGE is that of dns_parse(). ADDRESS: 4 or 16 bytes for A or AAAA,
 * or NULL for none; PTR: a name, or NULL. Returns its length; never more than SIZE (≥ 512). */
size_t dns_answer(const uint8_t *message, const struct dns_question *q, enum dns_code code,
		  const uint8_t *address, const char *ptr, uint8_t *ret, size_t size);
