/* SPDX-License-Identifier: MIT */
#include "result/violation.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "tap.h"

static void add(struct violations *list, const char *op, const char *target, uint64_t at,
		enum violation_weight weight)
{
	struct violation *new;

	if (violations_add(list, "filesystem", op, target, at, &new) == 0 && new)
		new->weight = weight;
}

static void test_counting(void)
{
	struct violations list = {.observed = true};
	char name[32];

	for (unsigned i = 0; i < 1000; i++)
		add(&list, "open", "/etc/x", i, VIOLATION_PLAIN);
	tap_ok(list.len == 1 && list.items[0].count == 1000, "the same a thousand times is one");
	tap_ok(list.items[0].first_ms == 0 && list.items[0].last_ms == 999, "first and last");
	add(&list, "create", "/etc/x", 0, VIOLATION_PLAIN);
	add(&list, "open", NULL, 0, VIOLATION_PLAIN);
	add(&list, "open", NULL, 0, VIOLATION_PLAIN);
	tap_ok(list.len == 3 && list.items[2].count == 2, "another operation, or no target");
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "/%d", i);
		add(&list, "open", name, 0, VIOLATION_PLAIN);
	}
	tap_ok(list.len == VIOLATIONS_MAX, "different ones are bounded");
	tap_eq_int((long long)list.dropped, 1000 - (VIOLATIONS_MAX - 3), "the rest is counted");
	violations_release(&list);
	tap_ok(list.len == 0, "and all of it can go");
}

static void ranked(const struct violations *list, const char *want)
{
	const struct violation *found[3];
	size_t n = violations_rank(list, found, 3);
	char got[128] = "";

	for (size_t i = 0; i < n && i < 3; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s ", found[i]->target);
	snprintf(got + strlen(got), sizeof(got) - strlen(got), "of %zu", n);
	tap_eq_str(got, want, "%s", want);
}

static void test_rank(void)
{
	struct violations list = {.observed = true};

	ranked(&list, "of 0");
	add(&list, "open", "/probe", 900, VIOLATION_PROBE);
	ranked(&list, "of 0");
	add(&list, "open", "/optional", 800, VIOLATION_OPTIONAL);
	ranked(&list, "/optional of 1");
	add(&list, "open", "/early", 10, VIOLATION_PLAIN);
	ranked(&list, "/early /optional of 2");
	add(&list, "open", "/late", 500, VIOLATION_PLAIN);
	ranked(&list, "/late /early /optional of 3");
	add(&list, "open", "/early", 600, VIOLATION_PLAIN);
	ranked(&list, "/early /late /optional of 3");
	add(&list, "open", "/last", 600, VIOLATION_PLAIN);
	ranked(&list, "/last /early /late of 4");
	violations_release(&list);
}

static void test_json(void)
{
	struct violation *made;
	struct violations list = {0};
	_cleanup_(str_release) struct str text = {0};
	struct json json = {.out = &text};

	json_begin_object(&json, NULL);
	violations_json(&list, &json);
	json_end_object(&json);
	tap_ok(json_finish(&json) == 0, "as JSON");
	tap_eq_str(str_text(&text), "{\"violations\":null}", "nobody looked");
	str_release(&text);
	json = (struct json){.out = &text};
	list.observed = true;
	add(&list, "open", "/etc/x", 1, VIOLATION_PROBE);
	violations_add(&list, "network", "connect", "a.test:80", 1, &made);
	violation_set_peer(made, "curl", "a.test", NULL, 80);
	json_begin_object(&json, NULL);
	violations_json(&list, &json);
	json_end_object(&json);
	json_finish(&json);
	tap_eq_str(
		str_text(&text),
		"{\"violations\":[{\"dimension\":\"filesystem\",\"op\":\"open\",\"path\":\"/etc/x\","
		"\"program\":null,\"rule\":null,\"fix\":null,\"count\":1,\"probe\":true},"
		"{\"dimension\":\"network\",\"op\":\"connect\",\"target\":\"a.test:80\","
		"\"name\":\"a.test\",\"address\":null,\"port\":80,\"program\":\"curl\","
		"\"rule\":null,\"fix\":null,"
		"\"count\":1,\"probe\":false}],\"violations_dropped\":0}",
		"somebody did");
	violations_release(&list);
}

int main(void)
{
	test_counting();
	test_rank();
	test_json();
	return tap_done();
}
