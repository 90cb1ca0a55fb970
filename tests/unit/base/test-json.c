/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "tap.h"

static void write_sample(struct json *j)
{
	_cleanup_(strv_release) struct strv words = {0};

	strv_add(&words, "a");
	strv_add(&words, "b");
	json_begin_object(j, NULL);
	json_add_string(j, "name", "x");
	json_add_string(j, "nothing", NULL);
	json_add_uint(j, "most", UINT64_MAX);
	json_add_int(j, "least", INT64_MIN);
	json_begin_array(j, "list");
	json_add_bool(j, NULL, true);
	json_add_bool(j, NULL, false);
	json_add_null(j, NULL);
	json_begin_object(j, NULL);
	json_end_object(j);
	json_end_array(j);
	json_begin_array(j, "empty");
	json_end_array(j);
	json_add_strv(j, "words", &words);
	json_end_object(j);
}

static void test_layout(void)
{
	_cleanup_(str_release) struct str flat = {0};
	_cleanup_(str_release) struct str tall = {0};
	struct json j = {.out = &flat};

	write_sample(&j);
	tap_eq_int(json_finish(&j), 0, "a document ends well");
	tap_eq_str(flat.data,
		   "{\"name\":\"x\",\"nothing\":null,\"most\":18446744073709551615,"
		   "\"least\":-9223372036854775808,\"list\":[true,false,null,{}],"
		   "\"empty\":[],\"words\":[\"a\",\"b\"]}",
		   "on one line");
	j = (struct json){.out = &tall, .pretty = true};
	write_sample(&j);
	tap_eq_int(json_finish(&j), 0, "and pretty");
	tap_eq_str(tall.data,
		   "{\n  \"name\": \"x\",\n  \"nothing\": null,\n"
		   "  \"most\": 18446744073709551615,\n  \"least\": -9223372036854775808,\n"
		   "  \"list\": [\n    true,\n    false,\n    null,\n    {}\n  ],\n"
		   "  \"empty\": [],\n  \"words\": [\n    \"a\",\n    \"b\"\n  ]\n}",
		   "two-space indentation");
}

static void test_escapes(void)
{
	static const struct {
		const char *text;
		const char *want;
	} cases[] = {
		{"", "\"\""},
		{"a\"b\\c/d", "\"a\\\"b\\\\c/d\""},
		{"\b\t\n\f\r", "\"\\b\\t\\n\\f\\r\""},
		{"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
		{"\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xe2\x82\xac\xf0\x9f\x98\x80\""},
		{"\xe2\x80\xa8\xe2\x80\xae\xc2\x9b", "\"\\u2028\\u202e\\u009b\""},
		{"\xe2\x82\xac", "\"\xe2\x82\xac\""},
		{"a\xff"
		 "b",
		 "\"a\xef\xbf\xbd"
		 "b\""},
		{"\xc3", "\"\xef\xbf\xbd\""},
		{"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(str_release) struct str out = {0};
		struct json j = {.out = &out};

		json_add_string(&j, NULL, cases[i].text);
		tap_ok(json_finish(&j) == 0 && strcmp(out.data, cases[i].want) == 0,
		       "string case %zu", i);
	}
	_cleanup_(str_release) struct str out = {0};
	struct json j = {.out = &out};
	json_begin_object(&j, NULL);
	json_add_int(&j, "k\n\"", 1);
	json_end_object(&j);
	tap_eq_str(str_text(&out), "{\"k\\n\\\"\":1}", "keys are escaped too");
}

/* What others wrote as JSON is escaped alike, and stays the same JSON. */
static void test_raw(void)
{
	static const char *const cases[][2] = {
		{"{\"a\": [1, \"b\\n\\\"c\"]}", "{\"a\": [1, \"b\\n\\\"c\"]}"},
		{"\"\xc3\xa9 \xf0\x9f\x98\x80\"", "\"\xc3\xa9 \xf0\x9f\x98\x80\""},
		{"\"x\xe2\x80\xaey\xc2\x9b\x7fz\"", "\"x\\u202ey\\u009b\\u007fz\""},
		{"\"\xff\"", "\"\xff\""},
		{"", ""},
		{NULL, "null"},
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(str_release) struct str out = {0};
		struct json j = {.out = &out};

		json_add_raw(&j, NULL, cases[i][0]);
		tap_eq_int(json_finish(&j), 0, "raw text ends well");
		tap_eq_str(str_text(&out), cases[i][1], "raw text %zu", i);
	}
}

static void test_misuse(void)
{
	struct rlimit none = {0, 0};

	for (int i = 0; i < 2; i++) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			struct str out = {0};
			struct json j = {.out = &out};

			setrlimit(RLIMIT_CORE, &none);
			close(STDERR_FILENO);
			if (i == 0)
				json_end_array(&j);
			json_begin_object(&j, NULL);
			json_finish(&j);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		tap_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%s is a bug",
		       i == 0 ? "closing what is not open" : "leaving something open");
	}
}

static void test_failure(void)
{
	_cleanup_(str_release) struct str out = {0};
	struct json j = {.out = &out, .error = -12};

	write_sample(&j);
	tap_eq_int(json_finish(&j), -12, "the first failure is kept");
	tap_eq_int(out.len, 0, "and nothing is written after it");
}

int main(void)
{
	test_layout();
	test_escapes();
	test_raw();
	test_misuse();
	test_failure();
	return tap_done();
}
