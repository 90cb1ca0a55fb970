/* SPDX-License-Identifier: MIT */
/* Requests and replies: there and back, and what is no such thing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "files/reply.h"
#include "files/request.h"
#include "policy/protected-names.h"
#include "session/file-tool.h"
#include "tap.h"

static void test_request(void)
{
	_cleanup_(file_request_release) struct file_request a = {.tool = FILE_GREP,
								 .cwd = "/w",
								 .workspace = "/w",
								 .pattern = "x=y",
								 .offset = 7,
								 .max = UINT64_MAX,
								 .ignore_case = true};
	_cleanup_(file_request_release) struct file_request b = {0};
	_cleanup_(strv_release) struct strv words = {0};

	(void)strv_add(&a.paths, "-a\nb");
	(void)strv_add(&a.paths, "=");
	(void)strv_add(&a.roots, "/w");
	(void)file_request_pack(&a, &words);
	tap_ok(file_request_parse(words.items, &b) && b.tool == FILE_GREP && str_eq(b.cwd, "/w") &&
		       str_eq(b.pattern, "x=y") && b.offset == 7 && b.max == UINT64_MAX &&
		       b.ignore_case && !b.fixed && b.paths.len == 2 &&
		       str_eq(b.paths.items[0], "-a\nb") && str_eq(b.paths.items[1], "=") &&
		       b.roots.len == 1,
	       "a request comes back as it was");
}

static void test_no_request(void)
{
	static char *const bad[][4] = {
		{NULL},
		{"read", "cwd=/", NULL},
		{"file-", "cwd=/", NULL},
		{"file-nope", "cwd=/", NULL},
		{"file-read", NULL},
		{"file-read", "cwd=w", NULL},
		{"file-read", "cwd=/", "nope=1", NULL},
		{"file-read", "cwd=/", "offset=", NULL},
		{"file-read", "cwd=/", "offset=-1", NULL},
		{"file-read", "cwd=/", "offset=99999999999999999999", NULL},
		{"file-read", "cwd=/", "fixed=2", NULL},
		{"file-read", "cwd=/", "path", NULL},
	};

	for (size_t i = 0; i < array_len(bad); i++) {
		struct file_request request;

		tap_ok(!file_request_parse(bad[i], &request), "no request: %zu", i);
		file_request_release(&request);
	}
}

static void test_paths(void)
{
	static const struct {
		const char *path;
		bool good;
	} rows[] = {
		{"a", true},
		{"", false},
		{"\xc3\xa9", true},
		{"\xff", false},
		{"a\xc0\xaf"
		 "b",
		 false},
		{"\xed\xa0\x80", false},
		{"\xf4\x90\x80\x80", false},
		{"\xe2\x82", false},
		{"a\nb", true},
		{"~/x", true},
		{"-x", true},
	};
	_cleanup_(freep) char *longest = malloc(FILE_PATH_MAX + 2);

	for (size_t i = 0; i < array_len(rows); i++)
		tap_ok(!file_path_fault(rows[i].path) == rows[i].good, "path %zu is %s", i,
		       rows[i].good ? "good" : "refused");
	memset(longest, 'a', FILE_PATH_MAX + 1);
	longest[FILE_PATH_MAX + 1] = '\0';
	tap_ok(file_path_fault(longest), "one that is too long is refused, not cut");
}

static void test_reply(void)
{
	_cleanup_(reply_release) struct reply a = {0};
	_cleanup_(str_release) struct str text = {0};
	struct reply_reader reader;
	struct reply_field field;
	uint64_t n = 0;

	reply_number(&a, "size", UINT64_MAX);
	reply_bytes(&a, "text", "end 0:\n\0x", 9);
	(void)reply_finish(&a, &text);
	tap_ok(reply_begin(&reader, text.data, text.len) && reply_next(&reader, &field) == 1 &&
		       str_eq(field.key, "code") && field.len == 2,
	       "the verdict comes first");
	tap_ok(reply_next(&reader, &field) == 1 && reply_get_number(&field, &n) && n == UINT64_MAX,
	       "a number");
	tap_ok(reply_next(&reader, &field) == 1 && field.len == 9 &&
		       memcmp(field.value, "end 0:\n\0x", 9) == 0,
	       "bytes, whatever they look like");
	tap_ok(reply_next(&reader, &field) == 0, "the end");
	for (size_t i = 0; i < text.len; i++) {
		struct file_verdict verdict;

		if (file_reply_check(text.data, i, &verdict) == 0)
			tap_ok(false, "a reply that was cut at %zu is none", i);
	}
	reply_fail(&a, FILE_OUTSIDE, "%s", "no");
	str_truncate(&text, 0);
	(void)reply_finish(&a, &text);
	tap_ok(strstr(text.data, "code 7:outside\nmessage 2:no\n"), "a failure says why");
	reply_bytes(&a, "text", "", REPLY_MAX + 1);
	str_truncate(&text, 0);
	(void)reply_finish(&a, &text);
	tap_ok(a.broken && strstr(text.data, "code 6:failed\n") && text.len < 200,
	       "too much is a failure, not half a reply");
}

static void test_no_reply(void)
{
	static const char *const bad[] = {
		"",
		"pale-file-1",
		"pale-file-1\n",
		"pale-file-2\ncode 2:ok\nend 0:\n",
		"pale-file-1\nend 0:\n",
		"pale-file-1\ncode 2:ok\n",
		"pale-file-1\ncode 2:ok\nend 0:\nx",
		"pale-file-1\ncode 3:ok\nend 0:\n",
		"pale-file-1\ncode 02:ok\nend 0:\n",
		"pale-file-1\ncode  2:ok\nend 0:\n",
		"pale-file-1\ncode 2:nope\nend 0:\n",
		"pale-file-1\nCode 2:ok\nend 0:\n",
		"pale-file-1\ncode -2:ok\nend 0:\n",
		"pale-file-1\ncode 18446744073709551617:ok\nend 0:\n",
		"pale-file-1\ncode 18446744073709551615:ok\nend 0:\n",
		"pale-file-1\n 2:ok\nend 0:\n",
		"pale-file-1\ncode 4:nope\nend 0:\n",
		"pale-file-1\ncode 2:ok\nend 1:x\n",
		"pale-file-1\nabcdefghijklmnopq 1:x\ncode 2:ok\nend 0:\n"};

	for (size_t i = 0; i < array_len(bad); i++) {
		struct file_verdict verdict;

		tap_eq_int(file_reply_check(bad[i], strlen(bad[i]), &verdict), -EBADMSG,
			   "no reply: %zu", i);
	}
}

static void test_names(void)
{
	static const struct {
		const char *path;
		bool is_alike;
	} rows[] = {
		{"pale.toml", true},
		{"PALE.toml", true},
		{"pale.toml.", true},
		{"pale.toml ", true},
		{"pale.tomls", false},
		{"src/pale.toml", false},
		{".git/config", true},
		{".GIT/Config", true},
		{".g\xc4\xb1t/config", true},
		{".G\xc4\xb0T/config", true},
		{"GIT~1/config", true},
		{".git/objects/x", false},
		{".gi\xe2\x80\x8ct/hooks/x", true},
		{".git\xcc\x81/hooks", true},
		{".git/hook\xc5\xbf/x", true},
		{"\xef\xbc\x8eg\xef\xbd\x89t/config", true},
		{".vscode/x", true},
		{".vSCode", true},
		{".envrc", true},
		{".\xe2\x84\xaa"
		 "shrc",
		 true},
		{"src/main.c", false},
		{".gitignore", false},
	};

	for (size_t i = 0; i < array_len(rows); i++)
		tap_ok(protected_is_alike(rows[i].path) == rows[i].is_alike, "%s is %s",
		       rows[i].path, rows[i].is_alike ? "protected" : "not protected");
}

int main(void)
{
	test_request();
	test_no_request();
	test_paths();
	test_reply();
	test_no_reply();
	test_names();
	return tap_done();
}
