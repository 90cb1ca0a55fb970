/* SPDX-License-Identifier: MIT */
/* refused: what the broker did not let out, as violations that a rule can be made of. */
#include <arpa/inet.h>
#include <string.h>

#include "base/str.h"
#include "net/broker.h"
#include "observe/refused.h"
#include "result/violation.h"
#include "tap.h"

static const struct {
	const char *what;
	enum refusal_kind kind;
	const char *name, *address;
	uint16_t port;
	const char *why;
	/* wanted */
	const char *dimension, *op, *target, *shown, *rule; /* shown: the address */
} rows[] = {
	{"a name", REFUSED_NAME, "a.test", NULL, 0, NULL, "network", "resolve", "a.test", NULL,
	 NULL},
	{"a name that was asked about", REFUSED_NAME, "a.test", NULL, 443, NULL, "network",
	 "connect", "a.test:443", NULL, NULL},
	{"a port", REFUSED_PORT, "a.test", "198.18.0.2", 80, NULL, "network", "connect",
	 "a.test:80", NULL, NULL},
	{"a literal", REFUSED_ADDRESS, NULL, "192.0.2.1", 80, NULL, "network", "connect",
	 "192.0.2.1:80", "192.0.2.1", NULL},
	{"a new literal", REFUSED_ADDRESS, NULL, "2001:db8::1", 80, NULL, "network", "connect",
	 "[2001:db8::1]:80", "2001:db8::1", NULL},
	{"a name that leads astray", REFUSED_LEADS, "a.test", "127.0.0.1", 443,
	 "this machine's loopback", "network", "resolve", "127.0.0.1:443", "127.0.0.1",
	 "a.test leads to this machine's loopback"},
	{"one that did so when it was asked for", REFUSED_LEADS, "a.test", "127.0.0.1", 0,
	 "loopback", "network", "resolve", "127.0.0.1", "127.0.0.1", "a.test leads to loopback"},
	{"a datagram", REFUSED_UDP, NULL, "192.0.2.1", 53, NULL, "network", "send", "192.0.2.1:53",
	 "192.0.2.1", "no datagrams but to the resolver"},
	{"a limit", REFUSED_LIMIT, "a.test", NULL, 443, "connections", "connections", "connect",
	 "a.test:443", NULL, "connections"},
	{"another name in TLS", REFUSED_SNI, "b.test", NULL, 443, NULL, "network", "connect",
	 "b.test:443", NULL, "TLS asks for another name than was connected to"},
};

static void read_address(const char *text, struct in6_addr *ret)
{
	struct in_addr four;

	*ret = (struct in6_addr){0};
	if (text && inet_pton(AF_INET, text, &four) == 1) {
		ret->s6_addr[10] = ret->s6_addr[11] = 0xff;
		memcpy(ret->s6_addr + 12, &four, 4);
	} else if (text) {
		inet_pton(AF_INET6, text, ret);
	}
}

static bool same(const char *a, const char *b)
{
	return a && b ? str_eq(a, b) : a == b;
}

static void test_row(size_t i)
{
	struct refusal refusal = {.kind = rows[i].kind,
				  .name = rows[i].name,
				  .to = {.port = rows[i].port},
				  .why = rows[i].why,
				  .program = "curl"};
	struct violations list = {0};
	const struct violation *v;

	read_address(rows[i].address, &refusal.to.address);
	v = refused_add(&list, &refusal, 7);
	if (!tap_ok(v && list.len == 1, "%s", rows[i].what))
		return;
	tap_ok(str_eq(v->dimension, rows[i].dimension) && str_eq(v->op, rows[i].op) &&
		       same(v->target, rows[i].target),
	       "%s: %s %s", rows[i].what, v->op, v->target);
	tap_ok(same(v->name, rows[i].name) && same(v->address, rows[i].shown) &&
		       v->port == rows[i].port && same(v->program, "curl"),
	       "%s: whom, and by whom: %s %s %u", rows[i].what, v->name ? v->name : "-",
	       v->address ? v->address : "-", v->port);
	tap_ok(same(v->rule, rows[i].rule), "%s: %s", rows[i].what, v->rule ? v->rule : "no rule");
	tap_ok(!refused_add(&list, &refusal, 9) && list.len == 1 && list.items[0].count == 2 &&
		       list.items[0].last_ms == 9,
	       "%s: again is counted", rows[i].what);
	violations_release(&list);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		test_row(i);
	return tap_done();
}
