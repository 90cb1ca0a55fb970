/* SPDX-License-Identifier: MIT */
/* A resolver on a socket of our own network, asked by hand. */
#include "net/resolver.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "net/broker.h"
#include "net/dns.h"
#include "net/lookup.h"
#include "net/names.h"
#include "net/poller.h"
#include "tests/tap.h"
#include "tests/unit/net/own-net.h"

#define HOSTS                                                                                      \
	"127.0.0.1 localhost\n"                                                                    \
	"10.1.1.1 api.example.org a.wild.example b.wild.example asked.example slow.example\n"      \
	"127.0.0.1 trap.wild.example\n"

static struct loop loop;
static struct poller *poller;
static struct rules rules;
static struct names names;
static struct lookups *lookups;
static struct resolver *resolver;
static struct sockaddr_storage at;
static socklen_t at_len;
static uint16_t next_id = 0x100;

/* -- What the resolver tells ------------------------------------------------ */

static struct {
	unsigned refusals;
	enum refusal_kind kind;
	char name[NAME_CANONICAL_MAX], why[32], program[32];
} told;

static void on_refused(void *data, const struct refusal *refusal)
{
	(void)data;
	told.refusals++;
	told.kind = refusal->kind;
	snprintf(told.name, sizeof(told.name), "%s", refusal->name);
	snprintf(told.why, sizeof(told.why), "%s", refusal->why ? refusal->why : "");
	snprintf(told.program, sizeof(told.program), "%s",
		 refusal->program ? refusal->program : "");
}

static void on_ask(void *data, const char *name, uint16_t port, const char *program,
		   void (*answer)(void *answer_data, bool allow), void *answer_data)
{
	(void)data;
	(void)port;
	(void)program;
	(void)answer;
	(void)answer_data;
	tap_ok(false, "%s: the user is not asked about a name alone", name);
}

static struct broker_ear ear = {.refused = on_refused};

/* -- Asking ----------------------------------------------------------------- */

static size_t make(uint8_t *to, const char *name, uint16_t type)
{
	const uint8_t head[] = {
		(uint8_t)(next_id >> 8), (uint8_t)next_id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
	size_t len = sizeof(head);

	memcpy(to, head, len);
	for (const char *label = name; *label;) {
		size_t n = strcspn(label, ".");

		to[len++] = (uint8_t)n;
		memcpy(to + len, label, n);
		len += n;
		label += n + (label[n] == '.');
	}
	memcpy(to + len, (const uint8_t[]){0, (uint8_t)(type >> 8), (uint8_t)type, 0, 1}, 5);
	return len + 5;
}

struct reply {
	bool came;
	unsigned code, answers;
	uint8_t bytes[1500];
	size_t len, question_len;
};

static int asker(int type)
{
	int fd = socket(at.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (connect(fd, (struct sockaddr *)&at, at_len) < 0 && errno != EINPROGRESS)
		tap_ok(false, "a socket reaches the resolver: %s", strerror(errno));
	return fd;
}

static void await(int fd, struct reply *ret, size_t skip, unsigned ms)
{
	uint64_t end = clock_mono_ns() + ms * UINT64_C(1000000);

	while (clock_mono_ns() < end) {
		uint8_t bytes[1502];
		size_t size = sizeof(bytes);
		ssize_t n;

		if (skip && recv(fd, bytes, 2, MSG_DONTWAIT | MSG_PEEK) == 2)
			size = 2 + (size_t)(bytes[0] << 8 | bytes[1]);
		n = recv(fd, bytes, size, MSG_DONTWAIT);

		if (n >= (ssize_t)(12 + skip)) {
			ret->came = true;
			ret->len = (size_t)n - skip;
			memcpy(ret->bytes, bytes + skip, ret->len);
			ret->code = ret->bytes[3] & 15;
			ret->answers = ret->bytes[7];
			return;
		}
		own_net_turn(&loop, NULL, 5);
	}
}

static struct reply ask(const char *name, uint16_t type)
{
	_cleanup_(fd_closep) int fd = asker(SOCK_DGRAM);
	uint8_t message[300];
	struct reply reply = {0};
	size_t len = make(message, name, type);

	reply.question_len = len;
	if (send(fd, message, len, 0) < 0)
		tap_ok(false, "a question is sent");
	await(fd, &reply, 0, 5000);
	tap_ok(reply.came && reply.bytes[0] == next_id >> 8 && reply.bytes[1] == (next_id & 255) &&
		       reply.bytes[2] == 0x81 &&
		       memcmp(reply.bytes + 12, message + 12, len - 12) == 0,
	       "%s: answered, with the question as it was sent", name);
	next_id++;
	return reply;
}

static bool is_address(const struct reply *reply, const char *text)
{
	uint8_t want[16];
	size_t len = strchr(text, ':') ? 16 : 4;

	inet_pton(len == 16 ? AF_INET6 : AF_INET, text, want);
	return reply->code == 0 && reply->answers == 1 &&
	       reply->len == reply->question_len + 12 + len &&
	       memcmp(reply->bytes + reply->question_len + 12, want, len) == 0;
}

/* -- Tests ------------------------------------------------------------------ */

static void test_allowed(void)
{
	struct reply r = ask("API.example.ORG", DNS_A);

	tap_ok(is_address(&r, "198.18.1.1"), "an allowed name has an address that stands for it");
	r = ask("api.example.org", DNS_AAAA);
	tap_ok(is_address(&r, "fd70:616c:6500::1"), "in both families");
	r = ask("api.example.org", 65);
	tap_ok(r.code == 0 && r.answers == 0, "HTTPS: no data, and no error");
	r = ask("api.example.org", 16);
	tap_ok(r.code == 0 && r.answers == 0, "TXT as well");
	r = ask("a.wild.example", DNS_A);
	tap_ok(is_address(&r, "198.18.1.2"), "the next gets the next");
	r = ask("none.wild.example", DNS_A);
	tap_ok(r.code != 0 && r.answers == 0, "one that does not exist does not");
	r = ask("trap.wild.example", DNS_A);
	tap_ok(r.code == 0 && r.answers == 1,
	       "one that leads astray is refused when it is dialled");
	tap_eq_int(told.refusals, 0, "nothing of this is a refusal");
}

static void test_refused(void)
{
	struct reply r;

	resolver_note_program(resolver, "curl");
	r = ask("evil.example.org", DNS_A);
	tap_ok(r.code == DNS_NXDOMAIN && r.answers == 0, "any other name does not exist");
	tap_ok(told.refusals == 1 && told.kind == REFUSED_NAME &&
		       str_eq(told.name, "evil.example.org") && str_eq(told.program, "curl"),
	       "and a refusal says so, and who asked");
	ask("evil.example.org", DNS_AAAA);
	tap_eq_int(told.refusals, 1, "once for both families");
	ask("wild.example", DNS_A);
	tap_ok(told.refusals == 2 && str_eq(told.name, "wild.example"), "another is told again");
	resolver_note_program(resolver, NULL);
	ask("evil2.example.org", 16);
	tap_ok(told.refusals == 3 && str_eq(told.program, ""), "nobody known");
	r = ask("b ad.example.org", DNS_A);
	tap_ok(r.code == DNS_NXDOMAIN && told.refusals == 3, "what no host is called is nobody");
	tap_eq_int(names.len, 3, "no number was given to any of them");
}

static void test_own(void)
{
	struct reply r = ask("localhost", DNS_A);

	tap_ok(is_address(&r, "127.0.0.1"), "localhost is the loopback");
	r = ask("foo.localhost", DNS_AAAA);
	tap_ok(is_address(&r, "::1"), "below it as well");
	r = ask("1.1.18.198.in-addr.arpa", DNS_PTR);
	tap_ok(r.code == 0 && r.answers == 1 &&
		       memcmp(r.bytes + r.question_len + 12, "\3api\7example\3org", 17) == 0,
	       "the name of an address that was given");
	r = ask("1.0.0.127.in-addr.arpa", DNS_PTR);
	tap_ok(r.code == 0 && r.answers == 1, "of the loopback");
	r = ask("8.8.8.8.in-addr.arpa", DNS_PTR);
	tap_ok(r.code == DNS_NXDOMAIN, "but of no other");
	r = ask("200.1.18.198.in-addr.arpa", DNS_PTR);
	tap_ok(r.code == DNS_NXDOMAIN && told.refusals == 3, "nor of one that was not given");
}

static void test_garbage(void)
{
	_cleanup_(fd_closep) int fd = asker(SOCK_DGRAM);
	uint8_t message[300];
	size_t len = make(message, "api.example.org", DNS_A);
	struct reply r = {0};

	message[2] |= 0x80;
	(void)!send(fd, message, len, 0);
	(void)!send(fd, "x", 1, 0);
	(void)!send(fd, "", 0, 0);
	await(fd, &r, 0, 100);
	tap_ok(!r.came, "answers and rubbish are not answered");
	message[2] = 0x11;
	(void)!send(fd, message, len, 0);
	await(fd, &r, 0, 2000);
	tap_ok(r.came && r.code == DNS_NOTIMP && r.len == 12, "another operation is");
	message[2] = 1;
	message[5] = 2;
	(void)!send(fd, message, len, 0);
	await(fd, &r, 0, 2000);
	tap_ok(r.came && r.code == DNS_FORMERR, "two questions are");
	message[5] = 1;
	message[len - 1] = 3;
	(void)!send(fd, message, len, 0);
	await(fd, &r, 0, 2000);
	tap_ok(r.came && r.code == DNS_REFUSED, "another class is");
}

/* More at once than a socket holds by itself. */
static void test_burst(void)
{
	enum { MANY = 400 };
	_cleanup_(fd_closep) int fd = asker(SOCK_DGRAM);
	uint8_t message[300];
	size_t len = make(message, "api.example.org", DNS_A);
	unsigned answers = 0;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){1 << 20}, sizeof(int));
	for (unsigned i = 0; i < MANY; i++)
		(void)!send(fd, message, len, 0);
	for (unsigned i = 0; i < MANY; i++) {
		struct reply r = {0};

		await(fd, &r, 0, 500);
		if (!r.came)
			break;
		answers += r.answers == 1;
	}
	tap_eq_int(answers, MANY, "as many answers as questions, in a burst");
}

static void test_server_port(void)
{
	const struct sockaddr_in own = {.sin_family = AF_INET,
					.sin_port = htons(53),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1)};
	_cleanup_(fd_closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint8_t message[300];
	size_t len = make(message, "api.example.org", DNS_A);
	struct reply r = {0};

	tap_ok(bind(fd, (const struct sockaddr *)&own, sizeof(own)) == 0 &&
		       connect(fd, (struct sockaddr *)&at, at_len) == 0,
	       "a socket on port 53");
	(void)!send(fd, message, len, 0);
	await(fd, &r, 0, 100);
	tap_ok(!r.came, "no server is answered");
}

static void frame(int fd, const uint8_t *message, size_t len, size_t part)
{
	uint8_t framed[1400] = {(uint8_t)(len >> 8), (uint8_t)len};

	memcpy(framed + 2, message, len);
	for (size_t i = 0; i < len + 2; i += part) {
		(void)!send(fd, framed + i, i + part > len + 2 ? len + 2 - i : part, MSG_NOSIGNAL);
		own_net_turn(&loop, NULL, part < len ? 1 : 0);
	}
}

static bool is_closed(int fd, unsigned ms)
{
	uint64_t end = clock_mono_ns() + ms * UINT64_C(1000000);
	char byte;

	while (clock_mono_ns() < end) {
		ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			return true;
		own_net_turn(&loop, NULL, 5);
	}
	return false;
}

static void test_stream(void)
{
	_cleanup_(fd_closep) int fd = asker(SOCK_STREAM), big = -1, answer = -1, many = -1;
	uint8_t message[300];
	struct reply r = {0};
	size_t len = make(message, "api.example.org", DNS_A);

	own_net_turn(&loop, NULL, 20);
	frame(fd, message, len, 300);
	await(fd, &r, 2, 2000);
	r.question_len = len;
	tap_ok(r.came && is_address(&r, "198.18.1.1"), "over TCP");
	r = (struct reply){.question_len = len};
	frame(fd, message, len, 1);
	await(fd, &r, 2, 2000);
	tap_ok(r.came && is_address(&r, "198.18.1.1"), "again on the same, byte by byte");
	len = make(message, "b.wild.example", DNS_A);
	frame(fd, message, len, 300);
	frame(fd, message, len, 300);
	r = (struct reply){.question_len = len};
	await(fd, &r, 2, 2000);
	tap_ok(r.came && r.answers == 1, "a name that has to be looked up");
	r = (struct reply){0};
	await(fd, &r, 2, 2000);
	tap_ok(r.came && r.answers == 1, "and the question that was sent behind it");
	big = asker(SOCK_STREAM);
	own_net_turn(&loop, NULL, 20);
	(void)!send(big, "\xff\xff", 2, MSG_NOSIGNAL);
	tap_ok(is_closed(big, 2000), "a message that is too long ends it");
	answer = asker(SOCK_STREAM);
	own_net_turn(&loop, NULL, 20);
	message[2] |= 0x80;
	frame(answer, message, len, 300);
	tap_ok(is_closed(answer, 2000), "an answer, too");
	many = asker(SOCK_STREAM);
	own_net_turn(&loop, NULL, 20);
	message[2] = 1;
	len = make(message, "slow.wild.example", DNS_A);
	frame(many, message, len, 300);
	own_net_turn(&loop, NULL, 2);
	many = fd_close(many);
	own_net_turn(&loop, NULL, 300);
	r = ask("api.example.org", DNS_A);
	tap_ok(r.answers == 1, "who leaves before the answer does no harm");
}

static void test_streams_bounded(void)
{
	enum { MANY = 20 };
	int fds[MANY];
	unsigned closed = 0;
	uint64_t begin = clock_mono_ns();

	for (unsigned i = 0; i < MANY; i++) {
		fds[i] = asker(SOCK_STREAM);
		own_net_turn(&loop, NULL, 5);
	}
	for (unsigned i = 16; i < MANY; i++)
		closed += is_closed(fds[i], 1000);
	tap_ok(closed >= MANY - 16, "more streams than sixteen are not kept");
	tap_ok(!is_closed(fds[0], 50), "the first is");
	(void)!send(fds[0], "\0", 1, MSG_NOSIGNAL);
	tap_ok(is_closed(fds[0], 8000), "one that is slow is cut");
	tap_ok(clock_mono_ns() - begin > UINT64_C(4500000000), "after five seconds");
	for (unsigned i = 0; i < MANY; i++)
		fd_close(fds[i]);
	own_net_turn(&loop, NULL, 50);
}

static void test_ask(void)
{
	struct reply r;

	ear.ask = on_ask;
	told.refusals = 0;
	r = ask("nobody-knows.example", DNS_A);
	tap_ok(r.code == 0 && r.answers == 1 && told.refusals == 0,
	       "where the user can be asked, every name has an address");
	tap_eq_str(names.items[names.len - 1], "nobody-knows.example", "that stands for it");
	ear.ask = NULL;
	r = ask("nobody-knows.example", DNS_A);
	tap_ok(r.code == DNS_NXDOMAIN && told.refusals == 1, "and nowhere else");
}

static void test_full(void)
{
	char name[32];
	uint32_t number;
	struct reply r;

	for (unsigned i = 0; names_number(&names, name, &number) == 0 || i == 0; i++)
		snprintf(name, sizeof(name), "n%u.wild.example", i);
	told.refusals = 0;
	tap_ok(own_net_write("/tmp/hosts", HOSTS "10.1.1.1 x.wild.example y.wild.example\n"),
	       "more names");
	r = ask("x.wild.example", DNS_A);
	tap_ok(r.code == DNS_SERVFAIL && told.refusals == 1 && told.kind == REFUSED_LIMIT &&
		       str_eq(told.why, "names"),
	       "when there are too many names, a limit is told");
	r = ask("y.wild.example", DNS_A);
	tap_ok(r.code == DNS_SERVFAIL && told.refusals == 1, "once");
	r = ask("api.example.org", DNS_A);
	tap_ok(is_address(&r, "198.18.1.1"), "those that are known stay so");
}

/* The loopback's own port 53 is the DNS server of lookups: nobody is there. */
static bool start(void)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 *both = (struct sockaddr_in6 *)&at;
	const int off = 0;
	int datagrams, stream;

	/* The stream socket takes both families, as those of a sandbox do. */
	datagrams = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	stream = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	own.sin_port = htons(5300);
	both->sin6_family = AF_INET6;
	both->sin6_port = htons(5300);
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &both->sin6_addr);
	if (bind(datagrams, (struct sockaddr *)&own, sizeof(own)) < 0 ||
	    setsockopt(stream, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0 ||
	    bind(stream, (struct sockaddr *)both, sizeof(*both)) < 0 || listen(stream, 16) < 0)
		return false;
	memset(&at, 0, sizeof(at));
	memcpy(&at, &own, sizeof(own));
	at_len = sizeof(own);
	resolver_take(resolver, datagrams, stream);
	return true;
}

int main(void)
{
	if (tap_on_valgrind()) {
		tap_ok(true,
		       "left to the sanitizers: lookups have less memory than valgrind needs");
		return tap_done();
	}
	if (!own_net(HOSTS)) {
		tap_skip("no network of our own: %s", strerror(errno));
		return tap_done();
	}
	strv_add(&rules.hosts, "api.example.org:443");
	strv_add(&rules.hosts, "*.wild.example:80");
	if (poller_new(&loop, &poller, NULL) < 0 ||
	    lookups_new(poller, &rules, &lookups, NULL) < 0 ||
	    resolver_new(poller, &rules, &names, lookups, &ear, &resolver, NULL) < 0 || !start())
		abort();
	test_allowed();
	test_refused();
	test_own();
	test_garbage();
	test_burst();
	test_server_port();
	test_stream();
	test_streams_bounded();
	test_ask();
	test_full();
	resolver_free(resolver);
	lookups_free(lookups);
	poller_free(poller);
	loop_release(&loop);
	names_release(&names);
	rules_release(&rules);
	return tap_done();
}
