/* SPDX-License-Identifier: MIT */
#include "net/names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "tests/tap.h"

static struct in6_addr parse(const char *text)
{
	struct in6_addr a = {0};

	if (inet_pton(AF_INET6, text, &a) != 1)
		tap_ok(false, "%s is an address", text);
	return a;
}

static void test_numbers(void)
{
	_cleanup_(names_release) struct names names = {0};
	struct in6_addr v4, v6, other;
	uint32_t a = 99, b = 99, again = 99;

	tap_ok(names_number(&names, "a.example", &a) == 0 && a == 0, "the first name is 0");
	tap_ok(names_number(&names, "b.example", &b) == 0 && b == 1, "the next is 1");
	tap_ok(names_number(&names, "a.example", &again) == 0 && again == a,
	       "a name keeps its own");
	names_address(a, AF_INET, &v4);
	names_address(a, AF_INET6, &v6);
	other = parse("::ffff:198.18.1.1");
	tap_ok(IN6_ARE_ADDR_EQUAL(&v4, &other), "IPv4 of the first");
	other = parse("fd70:616c:6500::1");
	tap_ok(IN6_ARE_ADDR_EQUAL(&v6, &other), "IPv6 of the first");
	tap_eq_str(names_find(&names, &v4), "a.example", "back from IPv4");
	tap_eq_str(names_find(&names, &v6), "a.example", "back from IPv6");
	names_address(b, AF_INET6, &v6);
	tap_eq_str(names_find(&names, &v6), "b.example", "the second, too");
}

static void test_strangers(void)
{
	static const char *const none[] = {
		"::ffff:198.18.0.1", "::ffff:198.18.1.0", "::ffff:198.18.1.2",
		"::ffff:198.19.1.1", "::ffff:198.17.1.1", "::ffff:10.18.1.1",
		"fd70:616c:6500::",  "fd70:616c:6500::2", "fd70:616c:6500::1:1",
		"fd70:616c:6501::1", "::198.18.1.1",      "fd70:616c:6500:1::1",
	};
	_cleanup_(names_release) struct names names = {0};
	uint32_t number;

	names_number(&names, "a.example", &number);
	for (size_t i = 0; i < array_len(none); i++) {
		struct in6_addr a = parse(none[i]);

		tap_ok(!names_find(&names, &a), "%s stands for nothing", none[i]);
	}
}

static void test_ranges(void)
{
	static const char *const yes[] = {"::ffff:198.18.0.0", "::ffff:198.18.0.1",
					  "::ffff:198.19.255.255",
					  "fd70:616c:6500::", "fd70:616c:6500:ffff::1"};
	static const char *const no[] = {"::ffff:198.17.255.255", "::ffff:198.20.0.0",
					 "fd70:616c:6501::1", "::198.18.0.1", "::1"};

	for (size_t i = 0; i < array_len(yes); i++) {
		struct in6_addr a = parse(yes[i]);

		tap_ok(names_is_synthetic(&a), "%s is of the ranges", yes[i]);
	}
	for (size_t i = 0; i < array_len(no); i++) {
		struct in6_addr a = parse(no[i]);

		tap_ok(!names_is_synthetic(&a), "%s is not", no[i]);
	}
}

static void test_full(void)
{
	_cleanup_(names_release) struct names names = {0};
	char name[32];
	uint32_t number = 0;
	unsigned good = 0;
	struct in6_addr a;

	for (unsigned i = 0; i < NAMES_MAX; i++) {
		snprintf(name, sizeof(name), "n%u.example", i);
		good += names_number(&names, name, &number) == 0 && number == i;
	}
	tap_eq_int(good, NAMES_MAX, "as many names as are allowed");
	tap_eq_int(names_number(&names, "more.example", &number), -ENOSPC, "and no more");
	tap_ok(names_number(&names, "n7.example", &number) == 0 && number == 7,
	       "those that are there stay");
	names_address(NAMES_MAX - 1, AF_INET, &a);
	tap_ok(names_is_synthetic(&a), "the last is still of the range");
	tap_eq_str(names_find(&names, &a), name, "and leads back");
}

int main(void)
{
	test_numbers();
	test_strangers();
	test_ranges();
	test_full();
	return tap_done();
}
