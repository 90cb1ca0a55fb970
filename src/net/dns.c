/* SPDX-License-Identifier: MIT */
#include "net/dns.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

enum {
	LABEL_MAX = 63,
	EXTRA_MAX = 4, /* records after the question: OPT, and perhaps a signature */
	TTL_S = 30,
	OPT_LEN = 11,
	OUR_PAYLOAD = 1232,
	FLAG_ANSWER = 0x8000,
	FLAG_CUT = 0x0200,
	FLAG_RECURSION = 0x0100,
	FLAG_RECURSES = 0x0080,
	FLAG_UNCHECKED = 0x0010,
	OPCODE = 0x7800,
};

/* -- Reading ---------------------------------------------------------------- */

/* What is left to read; once BAD, everything is 0. */
struct reader {
	const uint8_t *at, *end;
	bool bad;
};

static const uint8_t *take(struct reader *r, size_t n)
{
	const uint8_t *at = r->at;

	if (r->bad || (size_t)(r->end - r->at) < n) {
		r->bad = true;
		return NULL;
	}
	r->at += n;
	return at;
}

static uint16_t take16(struct reader *r)
{
	const uint8_t *b = take(r, 2);

	return b ? (uint16_t)(b[0] << 8 | b[1]) : 0;
}

static uint8_t take8(struct reader *r)
{
	const uint8_t *b = take(r, 1);

	return b ? *b : 0;
}

/* A whole name: no pointers, for there is nothing before it to point at. Its text is
 * canonical, or "" for what no host is called. */
static void read_name(struct reader *r, char ret[NAME_CANONICAL_MAX])
{
	char text[DNS_NAME_MAX + 1];
	size_t len = 0;
	bool dotted = false;
	uint8_t n;

	ret[0] = '\0';
	while ((n = take8(r)) != 0) {
		const uint8_t *label = n <= LABEL_MAX ? take(r, n) : NULL;

		/* Each label has a byte before it, and the name one after it. */
		if (!label || len + n + 2 > DNS_NAME_MAX) {
			r->bad = true;
			return;
		}
		dotted |= memchr(label, '.', n) != NULL; /* a dot that ends no label */
		memcpy(text + len, label, n);
		len += n;
		text[len++] = '.';
	}
	if (r->bad || dotted || len == 0 || !name_canonical(text, len, ret))
		ret[0] = '\0';
}

/* The records that follow the question: of those we know OPT, which may be there once. */
static bool read_extra(struct reader *r, unsigned count, struct dns_question *q)
{
	char name[NAME_CANONICAL_MAX];

	for (unsigned i = 0; i < count && !r->bad; i++) {
		bool is_root = r->at < r->end && *r->at == 0;
		uint16_t type, class, len;
		const uint8_t *ttl;

		read_name(r, name);
		type = take16(r);
		class = take16(r);
		ttl = take(r, 4);
		len = take16(r);
		if (!take(r, len) || type != DNS_OPT)
			continue;
		if (q->has_opt || !is_root)
			return false;
		q->has_opt = true;
		q->version = ttl[1];
		q->payload = class > DNS_PLAIN_MAX ? class : DNS_PLAIN_MAX;
	}
	return !r->bad;
}

int dns_parse(const uint8_t *message, size_t len, struct dns_question *ret)
{
	struct reader r = {.at = message, .end = message + len};
	uint16_t flags, questions, answers, authorities, extra;
	struct dns_question q = {.payload = DNS_PLAIN_MAX};

	q.id = take16(&r);
	flags = take16(&r);
	questions = take16(&r);
	answers = take16(&r);
	authorities = take16(&r);
	extra = take16(&r);
	if (r.bad || flags & FLAG_ANSWER)
		return -EBADMSG;
	q.recursion = flags & FLAG_RECURSION;
	*ret = q;
	if (flags & OPCODE)
		return -ENOTSUP;
	if (questions != 1 || answers || authorities || extra > EXTRA_MAX || flags & FLAG_CUT)
		return -EINVAL;
	read_name(&r, q.name);
	q.type = take16(&r);
	q.class = take16(&r);
	if (r.bad)
		return -EINVAL;
	q.question_len = (size_t)(r.at - message) - DNS_HEADER;
	if (!read_extra(&r, extra, &q) || r.at != r.end)
		return -EINVAL;
	*ret = q;
	return 0;
}

static bool reverse_v4(const char *name, size_t len, struct in6_addr *ret)
{
	unsigned part = 0, digits = 0, number = 0;

	*ret = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
	for (size_t i = 0; i <= len; i++) {
		if (i == len || name[i] == '.') {
			if (digits == 0 || number > 255 || part == 4)
				return false;
			ret->s6_addr[15 - part++] = (uint8_t)number;
			digits = number = 0;
		} else if (name[i] < '0' || name[i] > '9' || ++digits > 3) {
			return false;
		} else {
			number = number * 10 + (unsigned)(name[i] - '0');
		}
	}
	return part == 4;
}

static bool reverse_v6(const char *name, size_t len, struct in6_addr *ret)
{
	static const char hex[] = "0123456789abcdef";

	*ret = (struct in6_addr){0};
	if (len != 63)
		return false;
	for (unsigned i = 0; i < 32; i++) {
		const char *digit = memchr(hex, name[2 * i], 16);

		if (!digit || (i < 31 && name[2 * i + 1] != '.'))
			return false;
		ret->s6_addr[15 - i / 2] |= (uint8_t)((digit - hex) << (i % 2 * 4));
	}
	return true;
}

bool dns_reverse(const char *name, struct in6_addr *ret)
{
	static const char v4[] = ".in-addr.arpa", v6[] = ".ip6.arpa";
	size_t len = strlen(name);

	if (str_ends(name, v4))
		return reverse_v4(name, len - strlen(v4), ret);
	return str_ends(name, v6) && reverse_v6(name, len - strlen(v6), ret);
}

/* -- Writing ---------------------------------------------------------------- */

struct writer {
	uint8_t *to;
	size_t len;
};

static void put(struct writer *w, const void *bytes, size_t n)
{
	memcpy(w->to + w->len, bytes, n);
	w->len += n;
}

static void put16(struct writer *w, unsigned value)
{
	const uint8_t b[] = {(uint8_t)(value >> 8), (uint8_t)value};

	put(w, b, sizeof(b));
}

static void put_name(struct writer *w, const char *name)
{
	while (*name) {
		size_t n = strcspn(name, ".");

		w->to[w->len++] = (uint8_t)n;
		put(w, name, n);
		name += n + (name[n] == '.');
	}
	w->to[w->len++] = 0;
}

/* Up to the data: the name is that of the question, which follows the header. */
static void put_record(struct writer *w, const struct dns_question *q, size_t data_len)
{
	put16(w, 0xc000 | DNS_HEADER);
	put16(w, q->type);
	put16(w, q->class);
	put16(w, 0);
	put16(w, TTL_S);
	put16(w, (unsigned)data_len);
}

static void put_opt(struct writer *w, enum dns_code code)
{
	w->to[w->len++] = 0;
	put16(w, DNS_OPT);
	put16(w, OUR_PAYLOAD);
	put16(w, (unsigned)code >> 4 << 8);
	put16(w, 0);
	put16(w, 0);
}

size_t dns_answer(const uint8_t *message, const struct dns_question *q, enum dns_code code,
		  const uint8_t *address, const char *ptr, uint8_t *ret, size_t size)
{
	struct writer w = {.to = ret};
	unsigned asked = (unsigned)message[2] << 8 | message[3];
	unsigned flags = FLAG_ANSWER | FLAG_RECURSES | (code & 15) |
			 (asked & (OPCODE | FLAG_RECURSION | FLAG_UNCHECKED));
	size_t data = ptr ? strlen(ptr) + 2 : q->type == DNS_A ? 4 : 16;
	bool has = code == DNS_NOERROR && q->question_len > 0 && (address || ptr);
	size_t whole = DNS_HEADER + q->question_len + 12 + data + (q->has_opt ? OPT_LEN : 0);

	if (has && whole > size) {
		flags |= FLAG_CUT;
		has = false;
	}
	put16(&w, q->id);
	put16(&w, flags);
	put16(&w, q->question_len > 0);
	put16(&w, has);
	put16(&w, 0);
	put16(&w, q->has_opt);
	put(&w, message + DNS_HEADER, q->question_len);
	if (has) {
		put_record(&w, q, data);
		if (ptr)
			put_name(&w, ptr);
		else
			put(&w, address, data);
	}
	if (q->has_opt)
		put_opt(&w, code);
	return w.len;
}
