/* SPDX-License-Identifier: MIT */
/* Messages as clients of several libraries send them, and as none does. */
#include "net/dns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "tests/tap.h"

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define API        "\3api\7example\3org"

struct message {
	uint8_t bytes[600];
	size_t len;
};

static void add(struct message *m, const void *bytes, size_t len)
{
	memcpy(m->bytes + m->len, bytes, len);
	m->len += len;
}

/* ID 0x1234, recursion wanted; NAME on the wire without its last byte. */
static struct message question(const char *name, size_t len, uint8_t type)
{
	struct message m = {0};

	add(&m, BYTES(0x12, 0x34, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0));
	add(&m, name, len);
	add(&m, BYTES(0, 0, type, 0, 1));
	return m;
}

static struct message with_opt(struct message m, const void *opt, size_t len)
{
	add(&m, opt, len);
	m.bytes[11]++;
	return m;
}

static void test_clients(void)
{
	struct message plain = question(API, sizeof(API) - 1, DNS_A);
	struct message glibc = with_opt(question(API, sizeof(API) - 1, DNS_AAAA),
					BYTES(0, 0, 41, 0x04, 0xb0, 0, 0, 0, 0, 0, 0));
	/* A cookie, and the bit that says that answers may be trusted. */
	struct message dig = with_opt(question(API, sizeof(API) - 1, 65),
				      BYTES(0, 0, 41, 0x04, 0xd0, 0, 0, 0, 0, 0, 12, 0, 10, 0, 8, 1,
					    2, 3, 4, 5, 6, 7, 8));
	struct message mixed = question("\3aPi\7ExAmPlE\3oRg", sizeof(API) - 1, DNS_A);
	struct dns_question q;

	dig.bytes[3] |= 0x20;
	tap_ok(dns_parse(plain.bytes, plain.len, &q) == 0 && q.id == 0x1234 && q.type == DNS_A &&
		       q.class == DNS_IN && q.recursion && !q.has_opt && q.payload == 512 &&
		       q.question_len == plain.len - 12,
	       "musl, Go without EDNS: a plain question");
	tap_eq_str(q.name, "api.example.org", "its name");
	tap_ok(dns_parse(glibc.bytes, glibc.len, &q) == 0 && q.type == DNS_AAAA && q.has_opt &&
		       q.payload == 1200 && q.version == 0,
	       "glibc, Go, c-ares: with EDNS");
	tap_ok(dns_parse(dig.bytes, dig.len, &q) == 0 && q.payload == 1232 && q.type == 65,
	       "dig: with a cookie");
	tap_ok(dns_parse(mixed.bytes, mixed.len, &q) == 0, "letters of mixed case");
	tap_eq_str(q.name, "api.example.org", "are one name");
}

static void test_not_names(void)
{
	static const struct {
		const char *what, *name;
		size_t len;
	} cases[] = {
		{"the root", "", 0},
		{"a dot inside a label", "\7api.foo\3org", 12},
		{"a NUL", "\4ap\0i\3org", 9},
		{"a newline", "\4api\n\3org", 9},
		{"a blank", "\4a pi\3org", 9},
		{"an escape", "\6\\046pi\3org", 11},
		{"a byte above ASCII", "\3b\xc3\xbc\3org", 8},
		{"a number at its end", "\3api\003123", 8},
		{"an address", "\003127\0010\0010\0011", 10},
		{"a star", "\1*\3org", 6},
		{"a hyphen first", "\2-a\3org", 7},
		{"a slash", "\3a/b\3org", 8},
		{"an at sign", "\3a@b\3org", 8},
	};
	struct message srv = question("\5_ldap\4_tcp\7example\3org", 23, 33);
	struct dns_question q;

	for (size_t i = 0; i < array_len(cases); i++) {
		struct message m = question(cases[i].name, cases[i].len, DNS_A);

		tap_ok(dns_parse(m.bytes, m.len, &q) == 0 && q.name[0] == '\0' &&
			       q.question_len == m.len - 12,
		       "%s: a question, and no name of a host", cases[i].what);
	}
	tap_ok(dns_parse(srv.bytes, srv.len, &q) == 0 && str_eq(q.name, "_ldap._tcp.example.org"),
	       "underscores are fine");
}

static void refuse(const char *what, struct message m, int want)
{
	struct dns_question q = {0};
	uint8_t answer[512];
	int r = dns_parse(m.bytes, m.len, &q);

	if (!tap_ok(r == want, "%s", what))
		tap_note("got %d", r);
	if (r != -EINVAL && r != -ENOTSUP)
		return;
	tap_ok(q.id == 0x1234 && q.question_len == 0 &&
		       dns_answer(m.bytes, &q, DNS_FORMERR, NULL, NULL, answer, 512) == 12 &&
		       answer[0] == 0x12 && answer[1] == 0x34 && answer[2] & 0x80 &&
		       (answer[3] & 15) == 1 && memcmp(answer + 4, "\0\0\0\0\0\0\0\0", 8) == 0,
	       "and the answer is a header that says so");
}

static struct message changed(struct message m, size_t at, uint8_t value)
{
	m.bytes[at] = value;
	return m;
}

static struct message cut(struct message m, size_t by)
{
	m.len -= by;
	return m;
}

static struct message long_name(unsigned labels, uint8_t last)
{
	struct message m = {0};

	add(&m, BYTES(0x12, 0x34, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0));
	for (unsigned i = 0; i < labels; i++) {
		m.bytes[m.len++] = 63;
		memset(m.bytes + m.len, 'a', 63);
		m.len += 63;
	}
	m.bytes[m.len++] = last;
	memset(m.bytes + m.len, 'b', last);
	m.len += last;
	add(&m, BYTES(0, 0, 1, 0, 1));
	return m;
}

static void test_refused(void)
{
	static const uint8_t opt[] = {0, 0, 41, 4, 0, 0, 0, 0, 0, 0, 0};
	struct message good = question(API, sizeof(API) - 1, DNS_A);
	struct message longer = good, pointed = good;
	struct message edns = with_opt(good, opt, sizeof(opt));
	struct dns_question q;

	longer.bytes[longer.len++] = 0;
	pointed.bytes[12] = 0xc0;
	refuse("nothing", cut(good, good.len), -EBADMSG);
	refuse("half a header", cut(good, good.len - 11), -EBADMSG);
	refuse("an answer", changed(good, 2, 0x81), -EBADMSG);
	refuse("an answer that is an error", changed(good, 2, 0x80), -EBADMSG);
	refuse("another operation", changed(good, 2, 0x11), -ENOTSUP);
	refuse("an update", changed(good, 2, 0x28), -ENOTSUP);
	refuse("no question", changed(good, 5, 0), -EINVAL);
	refuse("two questions", changed(good, 5, 2), -EINVAL);
	refuse("65281 questions", changed(good, 4, 0xff), -EINVAL);
	refuse("with answers in it", changed(good, 7, 1), -EINVAL);
	refuse("with authorities", changed(good, 9, 1), -EINVAL);
	refuse("a record that is not there", changed(good, 11, 1), -EINVAL);
	refuse("more records than one needs", changed(edns, 11, 200), -EINVAL);
	refuse("a pointer", pointed, -EINVAL);
	refuse("a pointer to itself", changed(pointed, 13, 12), -EINVAL);
	refuse("a label of an unknown kind", changed(good, 12, 0x43), -EINVAL);
	refuse("a label longer than the message", changed(good, 12, 63), -EINVAL);
	refuse("a name without an end", cut(good, 5), -EINVAL);
	refuse("no class", cut(good, 1), -EINVAL);
	refuse("bytes after the end", longer, -EINVAL);
	refuse("said to be cut", changed(good, 2, 0x03), -EINVAL);
	refuse("half an OPT", cut(edns, 1), -EINVAL);
	refuse("an OPT with more data than there is", changed(edns, edns.len - 1, 1), -EINVAL);
	refuse("two OPTs", with_opt(edns, opt, sizeof(opt)), -EINVAL);
	refuse("an OPT with a name", with_opt(good, "\1a\0\0\51\4\0\0\0\0\0\0\0", 13), -EINVAL);
	refuse("an OPT that points", with_opt(good, "\xc0\14\0\51\4\0\0\0\0\0\0\0", 12), -EINVAL);
	refuse("a name of 256 bytes", long_name(3, 62), -EINVAL);
	tap_ok(dns_parse(long_name(3, 61).bytes, long_name(3, 61).len, &q) == 0 &&
		       strlen(q.name) == 253,
	       "a name of 255 bytes is the longest");
	edns.bytes[edns.len - 5] = 1;
	tap_ok(dns_parse(edns.bytes, edns.len, &q) == 0 && q.version == 1 && q.payload == 1024,
	       "a later version of EDNS is told");
}

static void test_answers(void)
{
	static const uint8_t four[] = {198, 18, 1, 1}, sixteen[16] = {0xfd, 'p', [15] = 1};
	static const uint8_t opt[] = {0, 0, 41, 4, 0, 0, 0, 0, 0, 0, 0};
	struct message a = question("\3aPi\7ExAmPlE\3oRg", sizeof(API) - 1, DNS_A);
	struct message aaaa = with_opt(question(API, sizeof(API) - 1, DNS_AAAA), opt, sizeof(opt));
	uint8_t out[512];
	struct dns_question q;
	size_t len, at = a.len;

	dns_parse(a.bytes, a.len, &q);
	len = dns_answer(a.bytes, &q, DNS_NOERROR, four, NULL, out, sizeof(out));
	tap_ok(len == at + 16 && memcmp(out, "\x12\x34\x81\x80\0\1\0\1\0\0\0\0", 12) == 0,
	       "a header with one answer, recursion done");
	tap_ok(memcmp(out + 12, a.bytes + 12, at - 12) == 0, "the question as it was sent");
	tap_ok(memcmp(out + at, "\xc0\x0c\0\1\0\1\0\0\0\x1e\0\4\xc6\x12\1\1", 16) == 0,
	       "then the record");
	len = dns_answer(a.bytes, &q, DNS_NOERROR, NULL, NULL, out, sizeof(out));
	tap_ok(len == at && out[7] == 0 && (out[3] & 15) == 0, "no data is no error");
	len = dns_answer(a.bytes, &q, DNS_NXDOMAIN, four, NULL, out, sizeof(out));
	tap_ok(len == at && out[7] == 0 && (out[3] & 15) == 3, "an error has no address");
	dns_parse(aaaa.bytes, aaaa.len, &q);
	at = aaaa.len - sizeof(opt);
	len = dns_answer(aaaa.bytes, &q, DNS_NOERROR, sixteen, NULL, out, sizeof(out));
	tap_ok(len == at + 28 + 11 && memcmp(out + at + 12, sixteen, 16) == 0 && out[11] == 1 &&
		       memcmp(out + at + 28, "\0\0\x29\4\xd0\0\0\0\0\0\0", 11) == 0,
	       "IPv6, and OPT is answered by OPT");
	len = dns_answer(aaaa.bytes, &q, DNS_BADVERS, NULL, NULL, out, sizeof(out));
	tap_ok((out[3] & 15) == 0 && out[len - 6] == 1, "a code above 15 is in both places");
}

static void test_ptr(void)
{
	struct message m = question("\0011\0011\00218\003198\7in-addr\4arpa", 24, DNS_PTR);
	struct message wide = long_name(3, 61);
	struct dns_question q;
	uint8_t out[512];
	char name[NAME_CANONICAL_MAX];
	size_t len;

	dns_parse(m.bytes, m.len, &q);
	len = dns_answer(m.bytes, &q, DNS_NOERROR, NULL, "api.example.org", out, sizeof(out));
	tap_ok(len == m.len + 12 + 17 && out[m.len + 11] == 17 &&
		       memcmp(out + m.len + 12, API, 17) == 0,
	       "a name as the answer");
	dns_parse(wide.bytes, wide.len, &q);
	memcpy(name, q.name, sizeof(name));
	len = dns_answer(wide.bytes, &q, DNS_NOERROR, NULL, name, out, sizeof(out));
	tap_ok(len == wide.len && out[2] & 2 && out[7] == 0, "what does not fit is said to be cut");
}

static void test_reverse(void)
{
	static const struct {
		const char *name, *address;
	} cases[] = {
		{"1.1.18.198.in-addr.arpa", "::ffff:198.18.1.1"},
		{"255.0.0.10.in-addr.arpa", "::ffff:10.0.0.255"},
		{"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.5.6.c.6.1.6.0.7.d.f.ip6.arpa",
		 "fd70:616c:6500::1"},
		{"1.18.198.in-addr.arpa", NULL},
		{"1.1.1.18.198.in-addr.arpa", NULL},
		{"256.1.18.198.in-addr.arpa", NULL},
		{"0001.1.18.198.in-addr.arpa", NULL},
		{"a.1.18.198.in-addr.arpa", NULL},
		{"in-addr.arpa", NULL},
		{".in-addr.arpa", NULL},
		{"1.0.ip6.arpa", NULL},
		{"g.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.5.6.c.6.1.6.0.7.d.f.ip6.arpa", NULL},
		{"api.example.org", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		struct in6_addr got, want;
		bool is = dns_reverse(cases[i].name, &got);

		if (cases[i].address)
			inet_pton(AF_INET6, cases[i].address, &want);
		tap_ok(is == !!cases[i].address && (!is || IN6_ARE_ADDR_EQUAL(&got, &want)),
		       "'%s' asks about %s", cases[i].name,
		       cases[i].address ? cases[i].address : "no address");
	}
}

int main(void)
{
	test_clients();
	test_not_names();
	test_refused();
	test_answers();
	test_ptr();
	test_reverse();
	return tap_done();
}
