/* SPDX-License-Identifier: MIT */
/* One value more in a JSON text, every other byte as it was. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/json-edit.h"
#include "tap.h"

static const char *const server[] = {"mcpServers", "pale"};
static const char *const deny[] = {"permissions", "deny"};

static int edit(const char *text, struct json_put put, struct str *out, struct err *err)
{
	int r;

	put.n = 2;
	put.value = put.is_item ? json_string("Bash") : json_pack("{s:s}", "command", "/p");
	r = json_edit(text, strlen(text), &put, out, err);
	json_decref(put.value);
	return r;
}

static void gives(struct json_put put, const char *text, const char *want, const char *name)
{
	_cleanup_(str_release) struct str out = {0};
	struct err err = {0};
	int r = edit(text, put, &out, &err);

	tap_ok(r == 1, "%s: changed (%d %s)", name, r, err.message);
	tap_eq_str(str_text(&out), want, "%s", name);
	if (r == 1) {
		_cleanup_(str_release) struct str again = {0};

		tap_ok(edit(want, put, &again, &err) == 0 && again.len == 0,
		       "%s: once more, it is there already", name);
	}
}

static void refused(struct json_put put, const char *text, int want, const char *name)
{
	_cleanup_(str_release) struct str out = {0};
	struct err err = {0};
	int r = edit(text, put, &out, &err);

	tap_ok(r == want && out.len == 0, "%s: refused (%d)", name, r);
	tap_ok(err.message[0] != '\0', "%s: and why: %s", name, err.message);
}

#define ENTRY(indent) indent "\"pale\": {\n" indent "  \"command\": \"/p\"\n" indent "}"

static void test_members(void)
{
	struct json_put put = {.path = server};

	gives(put, "", "{\n  \"mcpServers\": {\n" ENTRY("    ") "\n  }\n}\n", "an empty file");
	gives(put, " \n", "{\n  \"mcpServers\": {\n" ENTRY("    ") "\n  }\n}\n", "a blank one");
	gives(put, "{}", "{\n  \"mcpServers\": {\n" ENTRY("    ") "\n  }\n}", "an empty object");
	gives(put, "{\"a\":1}", "{\"a\":1, \"mcpServers\": {\"pale\": {\"command\": \"/p\"}}}",
	      "all on one line");
	gives(put, "{\n  \"a\": [1,2],\n  \"b\": 1.50\n}\n",
	      "{\n  \"a\": [1,2],\n  \"b\": 1.50,\n  \"mcpServers\": {\n" ENTRY(
		      "    ") "\n  }\n}\n",
	      "further members stay as they are");
	gives(put, "{\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}",
	      "{\n  \"mcpServers\": {\n    \"x\": {},\n" ENTRY("    ") "\n  }\n}",
	      "behind another's entry");
	gives(put, "{ \"mcpServers\": {} }",
	      "{ \"mcpServers\": {\n  \"pale\": {\n    \"command\": \"/p\"\n  }\n} }",
	      "an empty list in a line");
	gives(put, "{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": 1\r\n\t}\r\n}",
	      "{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": 1,\r\n\t\t\"pale\": {\r\n"
	      "\t\t\t\"command\": \"/p\"\r\n\t\t}\r\n\t}\r\n}",
	      "tabs and carriage returns");
	gives(put, "{\"mcpServers\":{\"a}\\\"\":\"{,\"}}",
	      "{\"mcpServers\":{\"a}\\\"\":\"{,\", \"pale\": {\"command\": \"/p\"}}}",
	      "brackets in strings are none");
	refused(put, "{\"mcpServers\": []}", -ENOTDIR, "no object on the way");
	refused(put, "[]", -EINVAL, "a list");
	refused(put, "{", -EINVAL, "cut off");
	refused(put, "{} {}", -EINVAL, "something behind it");
	refused(put, "{\"mcpServers\":{},\"mcpServers\":{}}", -EINVAL, "a key twice");
	refused(put, "{\"mcp\\u0053ervers\": {\"x\": 1}}", -EINVAL, "a key in disguise");
	refused(put, "{\"a\": 1 // c\n}", -EINVAL, "a comment where there can be none");
}

static void test_same(void)
{
	struct json_put put = {.path = server};
	const char *more = "{\"mcpServers\": {\"pale\": {\"env\": {}, \"command\": \"/p\"}}}";
	_cleanup_(str_release) struct str out = {0};
	struct err err = {0};

	refused(put, more, -EEXIST, "an entry with more in it");
	tap_ok(edit(more, put, &out, &err) < 0 && strstr(err.message, "besides: env"),
	       "what it has more is named");
	refused(put, "{\"mcpServers\": {\"pale\": {\"command\": \"/q\"}}}", -EEXIST,
		"another command");
	refused(put, "{\"mcpServers\": {\"pale\": 3}}", -EEXIST, "a number");
	put.force = true;
	gives(put, more, "{\"mcpServers\": {\"pale\": {\"command\": \"/p\"}}}",
	      "all of it is replaced");
	gives(put, "{\"mcpServers\": {\"pale\": {\"command\": \"/q\"}, \"z\": 1}}",
	      "{\"mcpServers\": {\"pale\": {\"command\": \"/p\"}, \"z\": 1}}", "replaced by force");
}

static void test_lists(void)
{
	struct json_put put = {.path = deny, .is_item = true};

	gives(put, "{}", "{\n  \"permissions\": {\n    \"deny\": [\n      \"Bash\"\n    ]\n  }\n}",
	      "no list yet");
	gives(put, "{\"permissions\": {\"deny\": []}}", "{\"permissions\": {\"deny\": [\"Bash\"]}}",
	      "an empty list");
	gives(put, "{\"permissions\": {\"deny\": [\"Read(./.env)\"]}}",
	      "{\"permissions\": {\"deny\": [\"Read(./.env)\", \"Bash\"]}}", "a list in a line");
	gives(put,
	      "{\n  \"permissions\": {\n    \"deny\": [\n      \"A\",\n      \"B\"\n    ]\n  }\n}\n",
	      "{\n  \"permissions\": {\n    \"deny\": [\n      \"A\",\n      \"B\",\n      \"Bash\"\n"
	      "    ]\n  }\n}\n",
	      "a list on lines");
	refused(put, "{\"permissions\": {\"deny\": \"Bash\"}}", -ENOTDIR, "no list");
	refused(put, "{\"permissions\": 1}", -ENOTDIR, "no object");
}

static void test_comments(void)
{
	struct json_put put = {.path = server, .comments = true};

	gives(put, "// head\n{\n  \"mcpServers\": {\n    \"x\": {} // why, and \"what\"\n  }\n}\n",
	      "// head\n{\n  \"mcpServers\": {\n    \"x\": {}, // why, and \"what\"\n" ENTRY(
		      "    ") "\n  }\n}\n",
	      "a comment keeps its line");
	gives(put, "{\n  \"mcpServers\": {\n    \"x\": 1, /* , } */\n  },\n}\n",
	      "{\n  \"mcpServers\": {\n    \"x\": 1, /* , } */\n" ENTRY("    ") "\n  },\n}\n",
	      "a comma before the bracket is enough");
	gives(put, "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n",
	      "{\n  \"mcpServers\": {\n    // none yet\n" ENTRY("    ") "\n  }\n}\n",
	      "nothing but a comment");
	gives(put, "{\n  \"mcpServers\": {\n    \"x\": 1 // a, b\n    /* c */\n  }\n}",
	      "{\n  \"mcpServers\": {\n    \"x\": 1, // a, b\n    /* c */\n" ENTRY(
		      "    ") "\n  }\n}",
	      "commas in comments are none");
	gives(put, "{\"u\": \"http://x/*\"}",
	      "{\"u\": \"http://x/*\", \"mcpServers\": {\"pale\": {\"command\": \"/p\"}}}",
	      "slashes in strings are no comments");
	refused(put, "{ /* no end }", -EINVAL, "a comment without an end");
}

int main(void)
{
	test_members();
	test_same();
	test_lists();
	test_comments();
	return tap_done();
}
