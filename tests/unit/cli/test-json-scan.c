/* SPDX-License-Identifier: MIT */
/* The names of one object are found, and what is not JSON is refused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/json-scan.h"
#include "tap.h"

/* The names, joined; from a copy without a NUL, so that ASan sees every step
 * too far. NULL: refused. */
static char *scan(const char *text, size_t len)
{
	_cleanup_(strv_release) struct strv names = {0};
	_cleanup_(freep) char *copy = malloc(len + !len);
	struct str out = {0};

	if (!copy)
		abort();
	memcpy(copy, text, len);
	if (json_scan_names(copy, len, "k", &names) < 0)
		return NULL;
	str_append(&out, "");
	for (size_t i = 0; i < names.len; i++)
		str_appendf(&out, "%s%s", i ? " " : "", names.items[i]);
	return out.data;
}

static void check(const char *text, const char *want)
{
	_cleanup_(freep) char *got = scan(text, strlen(text));

	tap_eq_str(got, want, "%.40s", text);
}

int main(void)
{
	static const char *const bad[] = {
		"",        "{",           "{\"k\"}",   "{\"k\":}", "{\"k\":{}", "{} {}",
		"{,}",     "{\"a\":1,}",  "[1,]",      "[1 2]",    "01",        "1.",
		"1e",      "-",           "+1",        "tru",      "nul",       "\"a",
		"\"\\x\"", "\"\\u12g4\"", "\"\\u12",   "\"\n\"",   "{k:1}",     "{'k':1}",
		"{1:1}",   "[1}",         "{\"a\":1]", "\"\\",     "// x\n{}",  "{\"a\":.5}",
	};
	char deep[2 * JSON_SCAN_DEPTH + 3];

	check("{\"k\":{\"a\":\"x\",\"b\":\"\"}}", "a b");
	check(" { \"k\" : { \"a\" : \"x\" } } ", "a");
	check("{\"k\":{\"a\":1,\"b\":null,\"c\":{\"d\":\"x\"},\"e\":[\"x\"]}}", "");
	check("{\"x\":{\"k\":{\"a\":\"x\"}},\"k\":{\"b\":\"y\"},\"z\":{\"c\":\"\"}}", "b");
	check("{\"k\":[{\"a\":\"x\"}]}", "");
	check("[{\"k\":{\"a\":\"x\"}}]", "");
	check("{\"\\u006b\":{\"t\\u0065st\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}}", "test");
	check("{\"k\":{\"\\u00e9\":\"x\"}}", "\xff");
	check("[0,-0.5,1e3,2E+4,3.25e-1,true,false,null,\"\"]", "");
	for (size_t i = 0; i < array_len(bad); i++)
		check(bad[i], NULL);
	for (int over = 0; over <= 1; over++) {
		size_t n = JSON_SCAN_DEPTH + (size_t)over;
		_cleanup_(freep) char *got = NULL;

		memset(deep, '[', n);
		memset(deep + n, ']', n);
		got = scan(deep, 2 * n);
		tap_ok(over ? !got : got != NULL, "%zu levels", n);
	}
	return tap_done();
}
