/* SPDX-License-Identifier: MIT */
/*
 * fuzz-host-rule - two rules, a name and an address, a line each: what is canonical is its own
 * canonical form, covering is an order, and who is covered allows nothing that the other does
 * not.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "net/endpoint.h"
#include "net/rules.h"
#include "plan/plan.h"
#include "policy/host-rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

static void parse(const char *text, struct strv *rules)
{
	_cleanup_(strv_release) struct strv again = {0};

	if (host_rule_parse(text, rules, NULL) < 0) {
		check(rules->len == 0);
		return;
	}
	check(rules->len > 0);
	for (size_t i = 0; i < rules->len; i++) {
		check(host_rule_parse(rules->items[i], &again, NULL) == 0);
		check(host_rule_covers(rules->items[i], rules->items[i]));
	}
	check(strv_eq(rules, &again));
}

/* What it says of itself, read as a name or an address, is allowed by it. */
static void check_self(const char *rule)
{
	size_t len = (size_t)(strrchr(rule, ':') - rule);
	uint16_t port = (uint16_t)strtoul(rule + len + 1, NULL, 10);
	char name[HOST_NAME_SIZE];
	bool wild = str_starts(rule, "*.");

	if (wild || !host_name_canonical(rule, len, name))
		return;
	check(strlen(name) == len && memcmp(name, rule, len) == 0);
	check(host_rule_allows_name(rule, name, port) && host_rule_allows_name(rule, name, 0));
	check(!host_rule_allows_name(rule, name, port == 1 ? 2 : 1));
}

static void check_pair(const char *wide, const char *narrow, const char *name,
		       const struct in6_addr *address)
{
	uint16_t port = (uint16_t)strtoul(strrchr(narrow, ':') + 1, NULL, 10);
	bool covers = host_rule_covers(wide, narrow);

	if (covers && host_rule_covers(narrow, wide))
		check(str_eq(wide, narrow));
	if (!covers)
		return;
	if (name[0] && host_rule_allows_name(narrow, name, port))
		check(host_rule_allows_name(wide, name, port));
	if (host_rule_allows_address(narrow, address, port))
		check(host_rule_allows_address(wide, address, port));
}

/* The address as a rule of its own allows itself, and is covered by whatever allows it. */
static void check_address(const struct strv *rules, const struct in6_addr *address)
{
	struct endpoint e = {.address = *address, .port = 443};
	_cleanup_(strv_release) struct strv own = {0};
	char text[ENDPOINT_TEXT_MAX];

	endpoint_print(&e, text);
	check(host_rule_parse(text, &own, NULL) == 0 && own.len == 1);
	check(str_eq(own.items[0], text)); /* what is printed is canonical */
	check(host_rule_allows_address(text, address, 443));
	for (size_t i = 0; i < rules->len; i++)
		check(host_rule_allows_address(rules->items[i], address, 443) ==
		      host_rule_covers(rules->items[i], text));
	(void)endpoint_complaint(&e);
}

/* Rules that change: what was taken back is allowed no more, what was added is. */
static void check_changes(const struct strv *have, const char *text, const char *name)
{
	_cleanup_(rules_release) struct rules rules = {0};
	struct plan_net net = {.hosts = *have, .loopback = true};
	bool before;

	check(rules_init(&rules, &net) == 0);
	before = name[0] && rules_allow_name(&rules, name, 0);
	if (rules_narrow(&rules, text, NULL) == 0) {
		check(rules.hosts.len <= have->len);
		if (name[0] && str_eq(text, name) && !str_eq(name, "localhost"))
			check(!rules_allow_name(&rules, name, 0));
		if (name[0] && rules_allow_name(&rules, name, 0))
			check(before);
	} else {
		check(strv_eq(&rules.hosts, have));
	}
	if (rules_widen(&rules, text, NULL) == 0 && name[0] && str_eq(text, name))
		check(str_eq(name, "localhost") || rules_allow_name(&rules, name, 443));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(freep) char *copy = strndup((const char *)data, size);
	_cleanup_(strv_release) struct strv a = {0}, b = {0};
	char *lines[4] = {(char *)"", (char *)"", (char *)"", (char *)""}, *rest = copy;
	char name[HOST_NAME_SIZE] = "";
	struct in6_addr address = {0};

	if (!copy)
		return 0;
	for (size_t i = 0; i < 4 && rest; i++)
		lines[i] = strsep(&rest, "\n");
	parse(lines[0], &a);
	parse(lines[1], &b);
	if (host_name_canonical(lines[2], strlen(lines[2]), name)) {
		char again[HOST_NAME_SIZE];

		check(host_name_canonical(name, strlen(name), again) && str_eq(name, again));
	}
	memcpy(&address, lines[3], strnlen(lines[3], sizeof(address)));
	for (size_t i = 0; i < a.len; i++) {
		check_self(a.items[i]);
		for (size_t k = 0; k < b.len; k++) {
			check_pair(a.items[i], b.items[k], name, &address);
			check_pair(b.items[k], a.items[i], name, &address);
		}
	}
	check_address(&a, &address);
	if (a.len > 0)
		check_changes(&a, lines[1], name);
	return 0;
}
