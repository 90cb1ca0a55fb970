/* SPDX-License-Identifier: MIT */
#include "net/rules.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "net/endpoint.h"
#include "plan/plan.h"
#include "policy/host-rule.h"
#include "tests/tap.h"

static struct endpoint at(const char *text, uint16_t port)
{
	struct endpoint e = {.port = port};
	char mapped[80] = "::ffff:";

	if (!strchr(text, ':'))
		text = strncat(mapped, text, sizeof(mapped) - 8);
	if (inet_pton(AF_INET6, text, &e.address) != 1)
		tap_ok(false, "%s is an address", text);
	return e;
}

/* HOSTS as a policy has them, PORTS canonical; NULL: not set. */
static void make(struct rules *rules, const char *const *hosts, bool loopback,
		 const char *const *ports)
{
	struct plan_net net = {.brokered = true, .loopback = loopback, .ports_set = ports};

	for (; hosts && *hosts; hosts++)
		if (host_rule_parse(*hosts, &net.hosts, NULL) < 0)
			tap_ok(false, "%s is a rule", *hosts);
	for (; ports && *ports; ports++)
		strv_add(&net.ports, *ports);
	tap_ok(rules_init(rules, &net) == 0, "rules are made");
	strv_release(&net.hosts);
	strv_release(&net.ports);
}

static void test_names(void)
{
	static const char *const hosts[] = {"api.example.org", "*.example.net:80,8080",
					    "10.0.0.0/8:5432", "[fd00::/8]:6379", NULL};
	static const struct {
		const char *name;
		uint16_t port;
		bool allowed;
	} cases[] = {
		{"api.example.org", 443, true},
		{"api.example.org", 0, true},
		{"api.example.org", 80, false},
		{"api.example.or", 443, false},
		{"pi.example.org", 443, false},
		{"x.api.example.org", 443, false},
		{"evil-api.example.org", 443, false},
		{"example.org", 443, false},
		{"a.example.net", 80, true},
		{"a.b.example.net", 8080, true},
		{"a.example.net", 443, false},
		{"a.example.net", 0, true},
		{"example.net", 80, false},
		{".example.net", 80, false},
		{"evilexample.net", 80, false},
		{"a.example.net.evil", 80, false},
		{"10.0.0.0/8", 5432, true}, /* no canonical name has a slash */
		{"10.0.0.1", 5432, false},
		{"fd00::/8", 6379, false},
		{"", 0, false},
	};
	_cleanup_(rules_release) struct rules rules;

	make(&rules, hosts, false, NULL);
	for (size_t i = 0; i < array_len(cases); i++)
		tap_ok(rules_allow_name(&rules, cases[i].name, cases[i].port) == cases[i].allowed,
		       "%s:%u is %s", cases[i].name, (unsigned)cases[i].port,
		       cases[i].allowed ? "allowed" : "not");
}

static void test_addresses(void)
{
	static const char *const hosts[] = {"api.example.org", "10.0.0.0/8:5432", "[fd00::/8]:6379",
					    "192.0.2.7:22", NULL};
	static const struct {
		const char *address;
		uint16_t port;
		bool allowed;
	} cases[] = {
		{"10.0.0.0", 5432, true},        {"10.255.255.255", 5432, true},
		{"10.0.0.1", 5433, false},       {"10.0.0.1", 0, true},
		{"11.0.0.0", 5432, false},       {"9.255.255.255", 5432, false},
		{"::10.0.0.1", 5432, false},     {"::ffff:10.1.1.1", 5432, true},
		{"64:ff9b::a00:1", 5432, false}, {"fd12::1", 6379, true},
		{"fc00::1", 6379, false},        {"192.0.2.7", 22, true},
		{"192.0.2.6", 22, false},        {"192.0.2.7", 443, false},
		{"127.0.0.1", 5432, false},      {"::1", 6379, false},
		{"0.0.0.0", 5432, false},
	};
	_cleanup_(rules_release) struct rules rules;

	make(&rules, hosts, false, NULL);
	for (size_t i = 0; i < array_len(cases); i++) {
		struct endpoint e = at(cases[i].address, cases[i].port);

		tap_ok(rules_allow_address(&rules, &e) == cases[i].allowed, "%s at %u is %s",
		       cases[i].address, (unsigned)cases[i].port,
		       cases[i].allowed ? "allowed" : "not");
		tap_ok(rules_have_literal(&rules, &e) == cases[i].allowed, "by a literal, too");
	}
}

static void test_loopback(void)
{
	static const char *const some[] = {"8080", "5432", NULL}, *const none[] = {NULL};
	static const char *const named[] = {"localhost:25", "[::1]:6379", NULL};
	_cleanup_(rules_release) struct rules all, narrow, empty, off;
	struct endpoint v4 = at("127.0.0.1", 8080), v6 = at("::1", 1), any = at("0.0.0.0", 5432);
	struct endpoint mail = at("127.0.0.1", 25), redis = at("::1", 6379);
	struct endpoint redis4 = at("127.0.0.1", 6379);

	make(&all, NULL, true, NULL);
	make(&narrow, NULL, true, some);
	make(&empty, NULL, true, none);
	make(&off, named, false, NULL);
	tap_ok(rules_allow_address(&all, &v4) && rules_allow_address(&all, &v6) &&
		       rules_allow_address(&all, &any),
	       "localhost: every port of it");
	tap_ok(!rules_have_literal(&all, &v4), "which is no literal rule");
	tap_ok(rules_allow_address(&narrow, &v4) && rules_allow_address(&narrow, &any),
	       "the ports that are given");
	tap_ok(!rules_allow_address(&narrow, &v6), "and no others");
	tap_ok(!rules_allow_address(&empty, &v4), "an empty list is none");
	tap_ok(!rules_allow_address(&off, &v4), "without loopback");
	tap_ok(rules_allow_address(&off, &mail), "but a rule for the name");
	tap_ok(rules_allow_address(&off, &redis) && !rules_allow_address(&off, &redis4),
	       "or for one of its addresses");
}

static size_t count(const struct rules *rules)
{
	return rules->hosts.len + rules->ports.len + rules->loopback;
}

static void narrow(struct rules *rules, const char *rule, int want, size_t want_gone)
{
	struct err err = {0};
	size_t before = count(rules), gone;
	int r = rules_narrow(rules, rule, &err);

	gone = before - count(rules);
	if (!tap_ok(r == want && gone == want_gone && (r == 0 || err.message[0]),
		    "taking back %s: %s", rule, want ? "refused" : "as many as fall under it"))
		tap_note("%d, %zu gone, %s", r, gone, err.message);
}

static void test_narrow(void)
{
	static const char *const hosts[] = {"a.example.org:80,443",
					    "*.example.org",
					    "b.example.net",
					    "10.0.0.0/8:5432",
					    "10.1.0.0/16:80",
					    "127.0.0.1:99",
					    NULL};
	static const char *const ports[] = {"8080", "99", NULL};
	_cleanup_(rules_release) struct rules rules;
	struct endpoint e = at("127.0.0.1", 99);

	make(&rules, hosts, true, ports);
	narrow(&rules, "a.example.org:80", 0, 1);
	tap_ok(!rules_allow_name(&rules, "a.example.org", 80), "it is gone");
	tap_ok(rules_allow_name(&rules, "a.example.org", 443), "its other port is not");
	narrow(&rules, "a.example.org", -ENOTSUP, 0);
	tap_ok(rules_allow_name(&rules, "a.example.org", 443), "nothing was changed");
	narrow(&rules, "*.example.org", 0, 2);
	tap_ok(!rules_allow_name(&rules, "a.example.org", 443), "both went");
	narrow(&rules, "stranger.example", 0, 0);
	narrow(&rules, "10.1.2.3:5432", -ENOTSUP, 0);
	narrow(&rules, "10.0.0.0/8", 0, 2);
	narrow(&rules, "port:99", 0, 0);
	narrow(&rules, "LOCALHOST.:99", 0, 2);
	tap_ok(!rules_allow_address(&rules, &e), "a port of the loopback, by every way");
	narrow(&rules, "localhost:", -EINVAL, 0);
	narrow(&rules, "localhost:1,2", -EINVAL, 0);
	narrow(&rules, "localhost:70000", -EINVAL, 0);
	narrow(&rules, "not a rule", -EINVAL, 0);
	narrow(&rules, "", -EINVAL, 0);
	narrow(&rules, "localhost", 0, 1);
	e = at("::1", 8080);
	tap_ok(!rules_allow_address(&rules, &e), "nothing of the loopback is left");
	tap_ok(rules_allow_name(&rules, "b.example.net", 443), "what was not named stays");
}

static void test_narrow_all_ports(void)
{
	_cleanup_(rules_release) struct rules rules;
	struct endpoint e = at("127.0.0.1", 99);

	make(&rules, NULL, true, NULL);
	narrow(&rules, "localhost:99", -ENOTSUP, 0);
	narrow(&rules, "127.0.0.1:99", -ENOTSUP, 0);
	narrow(&rules, "127.0.0.1", -ENOTSUP, 0);
	narrow(&rules, "[::1]:99", -ENOTSUP, 0);
	narrow(&rules, "0.0.0.0/0:99", -ENOTSUP, 0);
	narrow(&rules, "10.0.0.0/8:99", 0, 0);
	tap_ok(rules_allow_address(&rules, &e), "one port of all cannot be taken out");
	narrow(&rules, "localhost", 0, 1);
	tap_ok(!rules_allow_address(&rules, &e), "all can");
}

static void test_widen(void)
{
	_cleanup_(rules_release) struct rules rules;
	struct endpoint e = at("127.0.0.1", 99), other = at("127.0.0.1", 98);

	make(&rules, NULL, false, NULL);
	tap_ok(rules_widen(&rules, "A.example.org.:80", NULL) == 0 &&
		       rules_allow_name(&rules, "a.example.org", 80),
	       "a name is added, canonical");
	tap_ok(rules_widen(&rules, "localhost:99", NULL) == 0 && rules_allow_address(&rules, &e) &&
		       !rules_allow_address(&rules, &other),
	       "one port of the loopback is added");
	tap_ok(rules_widen(&rules, "localhost", NULL) == 0 && rules_allow_address(&rules, &other),
	       "then all");
	tap_ok(rules_widen(&rules, "localhost:97", NULL) == 0 &&
		       rules_allow_address(&rules, &other),
	       "one of all changes nothing");
	tap_ok(rules_widen(&rules, "*", NULL) == -EINVAL, "everything is no rule");
	tap_ok(rules_narrow(&rules, "localhost", NULL) == 0 &&
		       rules_widen(&rules, "localhost:99", NULL) == 0 &&
		       rules_allow_address(&rules, &e) && !rules_allow_address(&rules, &other),
	       "after all were taken back, one is one");
}

static void test_canonical(void)
{
	char name[NAME_CANONICAL_MAX], wide[300];

	tap_ok(name_canonical("API.Example.ORG.", 16, name) && str_eq(name, "api.example.org"),
	       "lower case, no dot at the end");
	tap_ok(name_canonical("_srv.x", 6, name), "an underscore is fine");
	tap_ok(!name_canonical("a\0b.example", 11, name), "NUL is not");
	tap_ok(!name_canonical("a..b", 4, name) && !name_canonical("", 0, name) &&
		       !name_canonical(".", 1, name),
	       "nor is an empty label");
	tap_ok(!name_canonical("*.example.org", 13, name), "nor a wildcard");
	tap_ok(!name_canonical("10.0.0.1", 8, name) && !name_canonical("a.0x7f", 6, name),
	       "nor what looks like an address");
	tap_ok(!name_canonical("a b", 3, name) && !name_canonical("a\n", 2, name) &&
		       !name_canonical("b\xc3\xbc", 3, name) && !name_canonical("a@b", 3, name),
	       "nor blanks, controls, other alphabets, signs");
	memset(wide, 'a', sizeof(wide));
	for (size_t i = 49; i < sizeof(wide); i += 50)
		wide[i] = '.';
	tap_ok(name_canonical(wide, 253, name) && strlen(name) == 253, "253 characters are");
	tap_ok(!name_canonical(wide, 254, name), "254 are not");
}

int main(void)
{
	test_names();
	test_addresses();
	test_loopback();
	test_narrow();
	test_narrow_all_ports();
	test_widen();
	test_canonical();
	return tap_done();
}
