/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "tap.h"

static void test_add(void)
{
	_cleanup_(strv_release) struct strv v = {0};
	bool terminated = true;

	tap_eq_int(strv_add(&v, "one"), 0, "add");
	tap_eq_int(strv_addn(&v, "twofold", 3), 0, "add a part");
	tap_eq_int(strv_addf(&v, "%s-%d", "three", 3), 0, "add formatted");
	tap_eq_int(strv_take(&v, strdup("four")), 0, "take");
	tap_eq_int(v.len, 4, "four items");
	tap_eq_str(v.items[1], "two", "a part");
	tap_eq_str(v.items[2], "three-3", "formatted");
	tap_ok(!v.items[4], "NULL behind the last");
	tap_eq_int(strv_take(&v, NULL), -ENOMEM, "taking NULL is out of memory");
	tap_eq_int(v.len, 4, "and adds nothing");
	for (int i = 0; i < 1000; i++) {
		strv_addf(&v, "%d", i);
		terminated = terminated && !v.items[v.len];
	}
	tap_ok(terminated && v.len == 1004, "1000 more, NULL behind each");
	tap_eq_str(v.items[1003], "999", "the last of them");
}

static void test_compare(void)
{
	_cleanup_(strv_release) struct strv a = {0};
	_cleanup_(strv_release) struct strv b = {0};

	tap_ok(strv_eq(&a, &b), "empty equals empty");
	strv_add(&a, "x");
	strv_add(&a, "y");
	tap_ok(!strv_eq(&a, &b), "different lengths differ");
	strv_add(&b, "old");
	tap_eq_int(strv_copy(&b, &a), 0, "copy");
	tap_ok(strv_eq(&a, &b) && a.items[0] != b.items[0], "the copy is equal and its own");
	tap_eq_int(strv_copy(&b, &b), 0, "copy onto itself");
	tap_ok(strv_eq(&a, &b), "changes nothing");
	strv_add(&a, "z");
	strv_add(&b, "w");
	tap_ok(!strv_eq(&a, &b), "different items differ");
	tap_ok(strv_has(&a, "z") && !strv_has(&a, "w") && !strv_has(&a, ""), "has");
	strv_release(&a);
	tap_ok(!a.items && a.len == 0, "release empties");
	tap_ok(strv_copy(&b, &a) == 0 && b.len == 0, "a copy of nothing");
}

static void test_sort(void)
{
	static const char *const words[] = {"b", "a", "c", "a", "b", "a"};
	_cleanup_(strv_release) struct strv v = {0};

	strv_sort_unique(&v);
	tap_eq_int(v.len, 0, "sorting nothing");
	strv_add(&v, "only");
	strv_sort_unique(&v);
	tap_ok(v.len == 1 && strcmp(v.items[0], "only") == 0, "sorting one");
	strv_release(&v);
	for (size_t i = 0; i < array_len(words); i++)
		strv_add(&v, words[i]);
	strv_sort_unique(&v);
	tap_eq_int(v.len, 3, "duplicates are gone");
	tap_ok(v.len == 3 && strcmp(v.items[0], "a") == 0 && strcmp(v.items[1], "b") == 0 &&
		       strcmp(v.items[2], "c") == 0 && !v.items[3],
	       "sorted, with NULL behind");
}

int main(void)
{
	test_add();
	test_compare();
	test_sort();
	return tap_done();
}
