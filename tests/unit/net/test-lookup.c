/* SPDX-License-Identifier: MIT */
/* Names of a hosts file and of a DNS server that does not answer, in a network of our own. */
#include "net/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "net/endpoint.h"
#include "net/poller.h"
#include "net/rules.h"
#include "plan/plan.h"
#include "tests/tap.h"
#include "tests/unit/net/own-net.h"

#define HOSTS                                                                                      \
	"127.0.0.1 localhost\n"                                                                    \
	"10.1.1.1 good.example\n"                                                                  \
	"10.1.1.2 good.example\n"                                                                  \
	"2001:db8::7 good.example\n"                                                               \
	"127.0.0.1 trap.example\n"                                                                 \
	"169.254.169.254 cloud.example\n"                                                          \
	"10.1.1.3 mixed.example\n"                                                                 \
	"::1 mixed.example\n" OWN_NET_ADDRESS " own.example\n"

static struct loop loop;
static struct poller *poller;
static struct rules rules;
static struct lookups *lookups;

struct got {
	struct lookup_answer answer;
	bool done;
	unsigned calls;
	const char *next; /* looked up from within the call */
	struct got *next_got;
};

static void on_answer(void *data, const struct lookup_answer *answer)
{
	struct got *got = data;

	got->answer = *answer;
	got->done = true;
	got->calls++;
	if (got->next)
		lookup_start(lookups, got->next, 443, on_answer, got->next_got);
}

static const char *text_of(const struct in6_addr *address)
{
	static char text[4][ENDPOINT_TEXT_MAX];
	static unsigned turn;
	struct endpoint e = {.address = *address};

	turn = (turn + 1) % 4;
	endpoint_print_address(&e, text[turn]);
	return text[turn];
}

static struct got look_up(const char *name, uint16_t port)
{
	struct got got = {0};

	lookup_start(lookups, name, port, on_answer, &got);
	tap_ok(own_net_turn(&loop, &got.done, 5000) && got.calls == 1, "%s: answered once", name);
	return got;
}

static bool has(const struct lookup_answer *answer, const char *address)
{
	for (size_t i = 0; i < answer->len; i++)
		if (str_eq(text_of(&answer->addresses[i]), address))
			return true;
	return false;
}

static void test_answers(void)
{
	struct got got = look_up("good.example", 443);

	tap_ok(got.answer.error == 0 && got.answer.len == 3 && has(&got.answer, "10.1.1.1") &&
		       has(&got.answer, "10.1.1.2") && has(&got.answer, "2001:db8::7"),
	       "all addresses of both families");
	tap_ok(!got.answer.complaint, "about which nobody complains");
}

static void test_complaints(void)
{
	struct got got = look_up("trap.example", 443);

	tap_ok(got.answer.error == 0 && got.answer.len == 0, "nothing of it may be dialled");
	tap_ok(got.answer.complaint && strstr(got.answer.complaint, "loopback"), "for a reason");
	tap_eq_str(text_of(&got.answer.refused), "127.0.0.1", "about that address");
	got = look_up("cloud.example", 80);
	tap_ok(got.answer.len == 0 && got.answer.complaint &&
		       strstr(got.answer.complaint, "metadata"),
	       "metadata services are out");
	got = look_up("mixed.example", 443);
	tap_ok(got.answer.len == 1 && has(&got.answer, "10.1.1.3") && got.answer.complaint,
	       "what is good of a name stays");
	got = look_up("own.example", 443);
	tap_ok(got.answer.len == 0 && got.answer.complaint &&
		       strstr(got.answer.complaint, "this machine"),
	       "an address of an interface is our own");
}

static void test_lifted(void)
{
	struct got got;

	strv_add(&rules.hosts, "127.0.0.1:5432");
	strv_add(&rules.hosts, OWN_NET_ADDRESS ":5432");
	got = look_up("trap.example", 5432);
	tap_ok(got.answer.len == 1 && !got.answer.complaint,
	       "a literal rule lifts the complaint at its port");
	got = look_up("trap.example", 5433);
	tap_ok(got.answer.len == 0 && got.answer.complaint, "and at no other");
	got = look_up("own.example", 5432);
	tap_ok(got.answer.len == 1, "an address of this machine as well");
	rules.loopback = true;
	got = look_up("trap.example", 80);
	tap_ok(got.answer.len == 0, "localhost for literals lets no name lead there");
	rules.loopback = false;
	strv_release(&rules.hosts);
}

static void test_rebinding(void)
{
	struct got got;

	tap_ok(own_net_write("/tmp/hosts", "127.0.0.1 good.example\n"), "the name leads elsewhere");
	got = look_up("good.example", 443);
	tap_ok(got.answer.len == 3, "what was found is kept for some time");
	tap_ok(own_net_write("/tmp/hosts", HOSTS), "and back");
}

static void test_own_addresses(void)
{
	static const struct {
		const char *address;
		bool own;
	} cases[] = {
		{"::ffff:127.0.0.1", true},
		{"::ffff:" OWN_NET_ADDRESS, true},
		{"::ffff:0.0.0.0", true},
		{"::ffff:10.1.1.1", false},
		{"::1", true},
		{"2001:db8::7", false},
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		struct in6_addr a;

		inet_pton(AF_INET6, cases[i].address, &a);
		tap_ok(lookup_is_own_address(&a) == cases[i].own, "%s is %s", cases[i].address,
		       cases[i].own ? "our own" : "not");
	}
}

static void test_reentry(void)
{
	struct got second = {0}, first = {.next = "mixed.example", .next_got = &second};
	struct got third = {0}, chain = {.next = "fresh.example", .next_got = &third};

	tap_ok(own_net_write("/tmp/hosts", HOSTS "10.1.1.9 fresh.example chain.example\n"),
	       "two more names");
	lookup_start(lookups, "good.example", 443, on_answer, &first);
	tap_ok(first.done && second.done, "what is kept is told at once, from a call as well");
	lookup_start(lookups, "chain.example", 443, on_answer, &chain);
	tap_ok(!chain.done, "what is not comes later");
	tap_ok(own_net_turn(&loop, &third.done, 5000) && chain.calls == 1 && third.calls == 1 &&
		       has(&third.answer, "10.1.1.9"),
	       "a call may start another");
}

static void test_joined_and_forgotten(void)
{
	struct got a = {0}, b = {0}, c = {0};

	tap_ok(own_net_write("/tmp/hosts", HOSTS "10.1.1.8 shared.example\n"), "one more");
	lookup_start(lookups, "shared.example", 443, on_answer, &a);
	lookup_start(lookups, "shared.example", 443, on_answer, &b);
	lookup_start(lookups, "shared.example", 443, on_answer, &c);
	lookup_forget(lookups, &b);
	own_net_turn(&loop, &a.done, 5000);
	own_net_turn(&loop, &c.done, 5000);
	tap_ok(a.calls == 1 && c.calls == 1 && has(&a.answer, "10.1.1.8"),
	       "two who wait for one name are told");
	tap_ok(b.calls == 0, "who was forgotten is not");
}

/* More than may run at once; then the end in the midst of it. */
static void test_many(void)
{
	enum { MANY = 240 };
	uint64_t begin = clock_mono_ns();
	_cleanup_(str_release) struct str hosts = {0};
	static struct got got[MANY];
	char name[32];
	unsigned good = 0;

	for (unsigned i = 0; i < MANY; i++)
		str_appendf(&hosts, "10.2.0.%u many%u.example\n", i + 1, i);
	tap_ok(own_net_write("/tmp/hosts", str_text(&hosts)), "many names");
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many%u.example", i);
		lookup_start(lookups, name, 443, on_answer, &got[i]);
	}
	for (unsigned i = 0; i < MANY; i++)
		good += own_net_turn(&loop, &got[i].done, 20000) && got[i].answer.len == 1 &&
			got[i].answer.addresses[0].s6_addr[15] == i + 1;
	tap_eq_int(good, MANY, "each gets its own answer");
	tap_ok(clock_mono_ns() - begin > UINT64_C(1000000000), "and not all of them at once");
	tap_ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "and no process is left");
}

/* A server that takes questions, and never answers. */
static void test_late(void)
{
	const struct sockaddr_in at = {.sin_family = AF_INET,
				       .sin_port = htons(53),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_cleanup_(fd_closep) int server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct got late = {0}, quick = {0}, left = {0};
	uint64_t begin = clock_mono_ns(), took_ms;

	tap_ok(bind(server, (const struct sockaddr *)&at, sizeof(at)) == 0, "a silent server");
	lookup_start(lookups, "late.example", 443, on_answer, &late);
	own_net_turn(&loop, NULL, 200);
	tap_ok(!late.done, "who asks it waits");
	tap_ok(own_net_write("/tmp/hosts", "10.3.0.1 quick.example\n"), "another name");
	lookup_start(lookups, "quick.example", 443, on_answer, &quick);
	tap_ok(own_net_turn(&loop, &quick.done, 5000) && quick.answer.len == 1,
	       "others are not held up");
	own_net_turn(&loop, &late.done, 15000);
	took_ms = (clock_mono_ns() - begin) / 1000000;
	tap_ok(late.done && late.answer.error == -EAGAIN, "it could not be asked");
	tap_ok(took_ms >= 9900 && took_ms < 14000, "after ten seconds (%llu ms)",
	       (unsigned long long)took_ms);
	lookup_start(lookups, "left.example", 443, on_answer, &left);
	own_net_turn(&loop, NULL, 100);
	lookups = lookups_free(lookups);
	tap_ok(!left.done && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD,
	       "the end takes what is being asked with it");
}

static void test_missing(void)
{
	struct got got = look_up("missing.example", 443);

	tap_ok((got.answer.error == -ENOENT || got.answer.error == -EAGAIN) && got.answer.len == 0,
	       "a name that is nowhere has no address");
}

int main(void)
{
	struct plan_net net = {0};

	if (tap_on_valgrind()) {
		tap_ok(true,
		       "left to the sanitizers: lookups have less memory than valgrind needs");
		return tap_done();
	}
	if (!own_net(HOSTS)) {
		tap_skip("no network of our own: %s", strerror(errno));
		return tap_done();
	}
	if (rules_init(&rules, &net) < 0 || poller_new(&loop, &poller, NULL) < 0 ||
	    lookups_new(poller, &rules, &lookups, NULL) < 0)
		abort();
	test_answers();
	test_complaints();
	test_lifted();
	test_rebinding();
	test_own_addresses();
	test_reentry();
	test_joined_and_forgotten();
	test_missing();
	test_many();
	test_late();
	poller_free(poller);
	loop_release(&loop);
	rules_release(&rules);
	return tap_done();
}
