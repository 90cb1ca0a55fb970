/* SPDX-License-Identifier: MIT */
/*
 * fuzz-dns - bytes as a DNS message: what is parsed is answered, and what was answered is read
 * again by a reader of this file's own, which knows nothing of the one that is tested.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "net/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

/* Past the name at AT: labels to the end, or a pointer to the question. */
static size_t skip_name(const uint8_t *m, size_t len, size_t at)
{
	for (;;) {
		check(at < len);
		if (m[at] == 0)
			return at + 1;
		if (m[at] >= 0xc0) {
			check(at + 2 <= len && m[at] == 0xc0 && m[at + 1] == 12);
			return at + 2;
		}
		check(m[at] <= 63);
		at += 1 + m[at];
	}
}

static size_t skip_record(const uint8_t *m, size_t len, size_t at)
{
	at = skip_name(m, len, at);
	check(at + 10 <= len);
	at += 10 + (size_t)(m[at + 8] << 8 | m[at + 9]);
	check(at <= len);
	return at;
}

/* An answer holds what its header says, to the last byte, and is itself never answered. */
static void check_answer(const uint8_t *sent, const struct dns_question *q, const uint8_t *m,
			 size_t len, size_t size)
{
	unsigned records = (unsigned)m[7] + m[9] + m[11];
	struct dns_question again;
	size_t at = 12;

	check(len >= 12 && len <= size);
	check(m[0] == sent[0] && m[1] == sent[1] && m[2] & 0x80);
	check(m[4] == 0 && m[5] <= 1 && m[6] == 0 && m[8] == 0 && m[10] == 0);
	if (m[5]) {
		at = skip_name(m, len, at) + 4;
		check(at == 12 + q->question_len && memcmp(m + 12, sent + 12, at - 12) == 0);
	}
	while (records-- > 0)
		at = skip_record(m, len, at);
	check(at == len);
	check(dns_parse(m, len, &again) == -EBADMSG);
}

/* Without its answer bit and its records it is the question again. */
static void check_same(const struct dns_question *q, uint8_t *m)
{
	struct dns_question again;

	m[2] &= 0x79;
	m[7] = m[11] = 0;
	check(dns_parse(m, 12 + q->question_len, &again) == 0);
	check(again.id == q->id && again.type == q->type && again.class == q->class &&
	      str_eq(again.name, q->name) && again.question_len == q->question_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t address[16] = {198, 18, 1, 1};
	static const enum dns_code codes[] = {DNS_NOERROR, DNS_SERVFAIL, DNS_NXDOMAIN, DNS_BADVERS};
	struct dns_question q;
	struct in6_addr reversed;
	char canonical[NAME_CANONICAL_MAX];
	uint8_t answer[1232];
	int r = dns_parse(data, size, &q);
	size_t len;

	if (r == -EBADMSG)
		return 0;
	check(r == 0 || r == -EINVAL || r == -ENOTSUP);
	check(q.payload >= 512 && 12 + q.question_len <= size && q.question_len <= 259);
	if (r < 0) {
		len = dns_answer(data, &q, DNS_FORMERR, NULL, NULL, answer, 512);
		check_answer(data, &q, answer, len, 512);
		return 0;
	}
	if (q.name[0])
		check(name_canonical(q.name, strlen(q.name), canonical) &&
		      str_eq(canonical, q.name));
	(void)dns_reverse(q.name, &reversed);
	for (size_t i = 0; i < 4; i++) {
		bool plain = q.type == DNS_A || q.type == DNS_AAAA;
		size_t room = i % 2 ? 512 : sizeof(answer);

		len = dns_answer(data, &q, codes[i], plain ? address : NULL,
				 q.type == DNS_PTR && q.name[0] ? q.name : NULL, answer, room);
		check_answer(data, &q, answer, len, room);
		check_same(&q, answer);
	}
	return 0;
}
