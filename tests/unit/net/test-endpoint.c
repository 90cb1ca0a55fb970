/* SPDX-License-Identifier: MIT */
#include "net/endpoint.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "tests/tap.h"

static struct endpoint at(const char *text, uint16_t port)
{
	struct sockaddr_storage s = {0};
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&s;
	struct sockaddr_in *v4 = (struct sockaddr_in *)&s;
	struct endpoint e = {0};

	if (strchr(text, ':')) {
		*v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
		inet_pton(AF_INET6, text, &v6->sin6_addr);
	} else {
		*v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
		inet_pton(AF_INET, text, &v4->sin_addr);
	}
	if (!endpoint_read(&s, strchr(text, ':') ? sizeof(*v6) : sizeof(*v4), &e))
		tap_ok(false, "%s is read", text);
	return e;
}

static void test_forms(void)
{
	static const struct {
		const char *text, *shown, *address;
		bool v4;
	} cases[] = {
		{"10.0.0.1", "10.0.0.1:443", "10.0.0.1", true},
		{"::ffff:10.0.0.1", "10.0.0.1:443", "10.0.0.1", true},
		{"::1", "[::1]:443", "::1", false},
		{"::", "[::]:443", "::", false},
		{"::10.0.0.1", "[::a00:1]:443", "::a00:1", false},
		{"2001:0db8:0:0:1:0:0:1", "[2001:db8::1:0:0:1]:443", "2001:db8::1:0:0:1", false},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		 "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:443",
		 "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false},
		{"fd00::", "[fd00::]:443", "fd00::", false},
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		struct endpoint e = at(cases[i].text, 443), again;
		struct sockaddr_storage s;
		char text[ENDPOINT_TEXT_MAX];
		socklen_t len;

		endpoint_print(&e, text);
		tap_eq_str(text, cases[i].shown, "%s with its port", cases[i].text);
		endpoint_print_address(&e, text);
		tap_eq_str(text, cases[i].address, "%s alone", cases[i].text);
		tap_ok(endpoint_is_v4(&e) == cases[i].v4, "%s: its family", cases[i].text);
		len = endpoint_write(&e, AF_INET6, &s);
		tap_ok(endpoint_read(&s, len, &again) && endpoint_equal(&e, &again),
		       "%s comes back from IPv6", cases[i].text);
		if (!cases[i].v4)
			continue;
		len = endpoint_write(&e, AF_INET, &s);
		tap_ok(len == sizeof(struct sockaddr_in) && endpoint_read(&s, len, &again) &&
			       endpoint_equal(&e, &again),
		       "%s comes back from IPv4", cases[i].text);
	}
}

static void test_not_read(void)
{
	struct sockaddr_storage s = {.ss_family = AF_UNIX};
	struct endpoint e = {.port = 7};

	tap_ok(!endpoint_read(&s, sizeof(s), &e), "a unix address is none");
	s.ss_family = AF_INET;
	tap_ok(!endpoint_read(&s, sizeof(struct sockaddr_in) - 1, &e), "IPv4, one byte short");
	s.ss_family = AF_INET6;
	tap_ok(!endpoint_read(&s, 23, &e), "IPv6, without its last byte");
	tap_ok(!endpoint_read(&s, 1, &e) && !endpoint_read(&s, 0, &e), "not even a family");
	tap_ok(e.port == 7, "and nothing was written");
	tap_ok(endpoint_read(&s, 24, &e), "IPv6 without a scope is what the kernel takes");
}

static void test_loopback(void)
{
	static const char *const yes[] = {"127.0.0.1", "127.255.255.255",  "0.0.0.0",       "::1",
					  "::",        "::ffff:127.0.0.1", "::ffff:0.0.0.0"};
	static const char *const no[] = {"126.0.0.1", "128.0.0.1",   "0.0.0.1",
					 "::2",       "::127.0.0.1", "fe80::1"};

	for (size_t i = 0; i < array_len(yes); i++) {
		struct endpoint e = at(yes[i], 1);

		tap_ok(endpoint_is_loopback(&e), "%s is loopback", yes[i]);
	}
	for (size_t i = 0; i < array_len(no); i++) {
		struct endpoint e = at(no[i], 1);

		tap_ok(!endpoint_is_loopback(&e), "%s is not", no[i]);
	}
}

static const char *const refused[][2] = {
	{"0.0.0.0", "no address"},
	{"0.255.255.255", "no address"},
	{"127.0.0.1", "loopback"},
	{"127.255.255.254", "loopback"},
	{"169.254.0.1", "link-local"},
	{"169.254.169.254", "metadata"},
	{"169.254.170.2", "link-local"},
	{"169.254.255.255", "link-local"},
	{"100.100.100.200", "metadata"},
	{"168.63.129.16", "metadata"},
	{"192.0.0.192", "metadata"},
	{"192.0.0.8", "reserved"},
	{"192.88.99.1", "6to4"},
	{"198.18.0.1", "stands for a name"},
	{"198.19.255.255", "stands for a name"},
	{"224.0.0.1", "multicast"},
	{"239.255.255.255", "multicast"},
	{"240.0.0.1", "reserved"},
	{"255.255.255.255", "broadcast"},
	{"::", "no address"},
	{"::1", "loopback"},
	{"::ffff:127.0.0.1", "loopback"},
	{"::ffff:169.254.169.254", "metadata"},
	{"::7f00:1", "IPv4 inside IPv6"},
	{"::10.0.0.1", "IPv4 inside IPv6"},
	{"::ffff:0:7f00:1", "IPv4 inside IPv6"},
	{"64:ff9b::7f00:1", "NAT64"},
	{"64:ff9b:1::1", "NAT64"},
	{"64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "NAT64"},
	{"1::1", "reserved"},
	{"100::1", "discarded"},
	{"2001::1", "Teredo"},
	{"2001:0:ffff::1", "Teredo"},
	{"2001:2::1", "reserved"},
	{"2001:20::1", "reserved"},
	{"2002:7f00:1::", "6to4"},
	{"2002:ffff::1", "6to4"},
	{"fd00:ec2::254", "metadata"},
	{"fd20:ce::254", "metadata"},
	{"fd00:c1::a9fe:a9fe", "metadata"},
	{"fd70:616c:6500::1", "stands for a name"},
	{"fe80::1", "link-local"},
	{"febf::1", "link-local"},
	{"fec0::1", "site-local"},
	{"feff::1", "site-local"},
	{"ff02::1", "multicast"},
	{"ffff::", "multicast"},
};
static const char *const fine[] = {
	"1.0.0.0",         "10.0.0.1",      "100.64.0.1",        "126.255.255.255",
	"128.0.0.0",       "169.253.0.1",   "169.255.0.1",       "172.16.0.1",
	"192.0.1.1",       "192.168.1.1",   "198.17.255.255",    "198.20.0.0",
	"223.255.255.1",   "168.63.129.17", "100.100.100.201",   "2001:200::1",
	"2001:db8::1",     "2003::1",       "2606:4700::1111",   "fc00::1",
	"fd00::1",         "fd00:ec3::254", "fd70:616c:6501::1", "::ffff:8.8.8.8",
	"2a00:1450::200e",
};

static void test_complaints(void)
{
	for (size_t i = 0; i < array_len(refused); i++) {
		struct endpoint e = at(refused[i][0], 443);
		const char *why = endpoint_complaint(&e);

		if (!tap_ok(why && strstr(why, refused[i][1]), "no name leads to %s (%s)",
			    refused[i][0], refused[i][1]))
			tap_note("got %s", why ? why : "nothing");
	}
	for (size_t i = 0; i < array_len(fine); i++) {
		struct endpoint e = at(fine[i], 443);

		tap_ok(!endpoint_complaint(&e), "a name may lead to %s", fine[i]);
	}
}

int main(void)
{
	test_forms();
	test_not_read();
	test_loopback();
	test_complaints();
	return tap_done();
}
