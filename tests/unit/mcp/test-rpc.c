/* SPDX-License-Identifier: MIT */
#include "mcp/rpc.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

/* --- lines --- */

struct seen {
	struct str text; /* "<line>" for each, "!" for one that was too long */
};

static void note(void *data, const char *line, size_t len)
{
	struct seen *seen = data;

	if (!line)
		str_append(&seen->text, "!");
	else if (len > 20)
		str_appendf(&seen->text, "<%zu bytes>", len);
	else
		str_appendf(&seen->text, "<%.*s>", (int)len, line);
}

static void test_lines(void)
{
	static const char stream[] = "one\n\n \t\r\ntwo\r\nthree\nrest";

	for (size_t piece = 1; piece <= sizeof(stream); piece++) {
		struct rpc_lines lines = {0};
		struct seen seen = {0};

		for (size_t at = 0; at < sizeof(stream) - 1; at += piece) {
			size_t left = sizeof(stream) - 1 - at;

			rpc_lines_feed(&lines, stream + at, left < piece ? left : piece, note,
				       &seen);
		}
		tap_eq_str(str_text(&seen.text), "<one><two\r><three>", "lines, by %zu bytes",
			   piece);
		rpc_lines_end(&lines, note, &seen);
		tap_eq_str(str_text(&seen.text), "<one><two\r><three><rest>",
			   "and the rest at the end");
		str_release(&seen.text);
	}
}

static void feed_many(struct rpc_lines *lines, char c, size_t len, struct seen *seen)
{
	static char block[1 << 20];

	memset(block, c, sizeof(block));
	while (len > 0) {
		size_t n = len < sizeof(block) ? len : sizeof(block);

		rpc_lines_feed(lines, block, n, note, seen);
		len -= n;
	}
}

static void test_long_lines(void)
{
	struct rpc_lines lines = {0};
	struct seen seen = {0};

	feed_many(&lines, 'x', RPC_LINE_MAX, &seen);
	rpc_lines_feed(&lines, "\n", 1, note, &seen);
	tap_eq_str(str_text(&seen.text), "<16777216 bytes>", "the longest line");
	feed_many(&lines, 'x', RPC_LINE_MAX + 1, &seen);
	tap_eq_str(str_text(&seen.text), "<16777216 bytes>!", "a byte more is refused at once");
	feed_many(&lines, 'x', 3 * RPC_LINE_MAX, &seen);
	tap_eq_int((long long)lines.rest.cap, 0, "nothing of it is kept");
	rpc_lines_feed(&lines, "x\nnext\n", 7, note, &seen);
	tap_eq_str(str_text(&seen.text), "<16777216 bytes>!<next>", "and the next line is read");
	feed_many(&lines, 'x', RPC_LINE_MAX + 1, &seen);
	rpc_lines_end(&lines, note, &seen);
	tap_eq_str(str_text(&seen.text), "<16777216 bytes>!<next>!",
		   "the rest of a long line is no line");
	str_release(&seen.text);
}

/* --- JSON --- */

static int parse(const char *text)
{
	struct rpc_error error = {0};
	json_t *value = NULL;
	int r = rpc_parse(text, strlen(text), &value, &error);

	json_decref(value);
	return r;
}

static void test_parse(void)
{
	static const char *const bad[] = {
		"{",
		"{} x",
		"{\"a\":1,}",
		"{'a':1}",
		"NaN",
		"[1,]",
		"\"\\ud800\"",
		"\xef\xbb\xbf{}",
		"{\"a\":1,\"a\":2}",
		"// x\n{}",
		"\"\xc0\xaf\"",
		"\"\xff\"",
		"01",
		"1e400",
		"\"\x01\"",
	};

	for (size_t i = 0; i < array_len(bad); i++)
		tap_eq_int(parse(bad[i]), RPC_PARSE_ERROR, "no JSON: %zu", i);
	tap_eq_int(parse("{\"a\":[1,2,{\"b\":null}]}"), 0, "JSON");
	tap_eq_int(parse("\"a\\u0000b\""), 0, "a NUL in a text is seen later");
}

static char *repeat(const char *open, size_t n, const char *middle, const char *close)
{
	struct str out = {0};

	for (size_t i = 0; i < n; i++)
		str_append(&out, open);
	str_append(&out, middle);
	for (size_t i = 0; i < n; i++)
		str_append(&out, close);
	return out.data;
}

static void test_bounds(void)
{
	_cleanup_(freep) char *deep = repeat("[", RPC_DEPTH_MAX, "1", "]");
	_cleanup_(freep) char *deeper = repeat("[", RPC_DEPTH_MAX + 1, "1", "]");
	_cleanup_(freep) char *quoted = repeat("[", 500, "", "");
	_cleanup_(freep) char *in_text = str_printf("\"\\\"%s\"", quoted);
	_cleanup_(freep) char *many = repeat("1,", RPC_VALUES_MAX, "1", "");
	_cleanup_(freep) char *list = str_printf("[%s]", many);

	tap_eq_int(parse(deep), 0, "as deep as may be");
	tap_eq_int(parse(deeper), RPC_INVALID_REQUEST, "and deeper");
	tap_eq_int(parse(in_text), 0, "brackets in a text do not count");
	tap_eq_int(parse(list), RPC_INVALID_REQUEST, "too many values");
}

/* --- messages --- */

static int read_message(const char *text, struct rpc_message *message, json_t **ret)
{
	struct rpc_error error = {0};

	if (rpc_parse(text, strlen(text), ret, &error) < 0)
		return 1;
	return rpc_message_read(*ret, message, &error);
}

static void check_message(const char *text, int want, enum rpc_kind kind, const char *id)
{
	struct rpc_message message = {0};
	json_t *value = NULL;
	int r = read_message(text, &message, &value);

	tap_eq_int(r, want, "%s", text);
	tap_eq_int(message.kind, kind, "what it is");
	tap_eq_str(message.id ? message.id : "-", id, "its id");
	rpc_message_release(&message);
	json_decref(value);
}

static void test_messages(void)
{
	check_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", 0, RPC_REQUEST, "1");
	check_message("{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"method\":\"\"}", 0, RPC_REQUEST,
		      "\"a\\\"b\"");
	check_message("{\"jsonrpc\":\"2.0\",\"id\":-9223372036854775808,\"method\":\"x\"}", 0,
		      RPC_REQUEST, "-9223372036854775808");
	check_message("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{}}", 0, RPC_NOTIFICATION,
		      "-");
	check_message("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":1}", 0, RPC_RESPONSE, "3");
	check_message("{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{}}", 0, RPC_RESPONSE, "3");
	check_message("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}", RPC_INVALID_REQUEST,
		      RPC_REQUEST, "-");
	check_message("{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"x\"}", RPC_INVALID_REQUEST,
		      RPC_REQUEST, "-");
	check_message("{\"jsonrpc\":\"2.0\",\"id\":\"\\u0000\",\"method\":\"x\"}",
		      RPC_INVALID_REQUEST, RPC_REQUEST, "-");
	check_message("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":7}", RPC_INVALID_REQUEST,
		      RPC_REQUEST, "4");
	check_message("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"a\\u0000b\"}",
		      RPC_INVALID_REQUEST, RPC_REQUEST, "4");
	check_message("{\"jsonrpc\":\"2.1\",\"id\":4,\"method\":\"x\"}", RPC_INVALID_REQUEST,
		      RPC_REQUEST, "4");
	check_message("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"x\",\"params\":[]}",
		      RPC_INVALID_PARAMS, RPC_REQUEST, "4");
	check_message("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"x\",\"result\":1}",
		      RPC_INVALID_REQUEST, RPC_REQUEST, "4");
	check_message("7", RPC_INVALID_REQUEST, RPC_REQUEST, "-");
}

static void test_writing(void)
{
	_cleanup_(str_release) struct str out = {0}, result = {0};
	struct rpc_error error;

	str_append(&result, "{\"a\":1}");
	rpc_put_result(&out, "\"x\"", &result);
	tap_eq_str(out.data, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{\"a\":1}}", "a result");
	str_truncate(&out, 0);
	rpc_fail(&error, RPC_PARSE_ERROR, "bad \"%s\"\n", "x");
	rpc_put_error(&out, NULL, &error);
	tap_eq_str(out.data,
		   "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
		   "\"message\":\"bad \\\"x\\\"\\n\"}}",
		   "an error without an id, in one line");
	str_truncate(&out, 0);
	rpc_put_notification(&out, "m", NULL);
	tap_eq_str(out.data, "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", "a notification");
}

int main(void)
{
	test_lines();
	test_long_lines();
	test_parse();
	test_bounds();
	test_messages();
	test_writing();
	return tap_done();
}
