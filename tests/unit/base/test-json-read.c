/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/json-read.h"
#include "base/json.h"
#include "base/str.h"
#include "tests/tap.h"

static void test_roundtrip(void)
{
	static const char odd[] =
		"a\"b\\c\n\t\x01\x7f\xc2\x85 \xe2\x80\xae \xc3\xa9 \xf0\x9f\x8c\x8d/";
	struct str text = {0};
	struct json json = {.out = &text};
	struct json_slice root, value, inner;
	uint64_t n = 0;
	char *got;

	json_begin_object(&json, NULL);
	json_add_string(&json, "odd", odd);
	json_add_null(&json, "nothing");
	json_begin_object(&json, "usage");
	json_add_uint(&json, "big", UINT64_MAX);
	json_add_int(&json, "low", -3);
	json_end_object(&json);
	json_begin_array(&json, "list");
	json_add_string(&json, NULL, "}]\"");
	json_end_array(&json);
	json_add_bool(&json, "last", true);
	json_end_object(&json);
	json_finish(&json);
	tap_ok(json_slice_init(&root, text.data, text.len), "the object is found");
	got = json_get(root, "odd", &value) ? json_get_string(value) : NULL;
	tap_eq_str(got, odd, "a string comes back as it was");
	free(got);
	tap_ok(json_get(root, "nothing", &value) && json_is_null(value), "null is null");
	tap_ok(!json_get_string(value) && !json_get_uint(value, &n), "and nothing else");
	tap_ok(json_get(root, "usage", &inner) && json_get(inner, "big", &value) &&
		       json_get_uint(value, &n) && n == UINT64_MAX,
	       "a number inside an object");
	tap_ok(json_get(inner, "low", &value) && !json_get_uint(value, &n), "not a negative one");
	tap_ok(json_get(root, "last", &value) && value.len == 4, "what stands behind a list");
	tap_ok(!json_get(root, "las", &value) && !json_get(inner, "last", &value),
	       "what is not there is not found");
	str_release(&text);
}

/* Every beginning of a document, in a block of its own size for the sanitizers. */
static void test_cut(void)
{
	static const char whole[] = "{\"a\": {\"b\": \"x\\u00e9\\\\\", \"c\": [1, {}]}, \"d\": 12}";
	size_t found = 0;

	for (size_t len = 0; len < sizeof(whole); len++) {
		char *copy = malloc(len + 1);
		struct json_slice root, key, value;
		size_t cursor = 0;

		memcpy(copy, whole, len);
		if (json_slice_init(&root, copy, len))
			while (json_next(root, &cursor, &key, &value)) {
				free(json_get_string(key));
				free(json_get_string(value));
				found++;
			}
		free(copy);
	}
	tap_ok(found == 2, "only the whole document has members: %zu", found);
}

static void test_malformed(void)
{
	static const char *const texts[] = {
		"",        "{", "{\"a\"",    "{\"a\":", "{a:1}",       "{\"a\" 1}", "\"\\u12\"",
		"\"\\x\"", "[", "{\"a\":,}", "\"",      "\"\\u0000\"", "{,}",       "\"\\ud800\""};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct json_slice root, key, value;
		size_t cursor = 0;
		bool good = json_slice_init(&root, texts[i], strlen(texts[i])) &&
			    (json_next(root, &cursor, &key, &value) || json_get_string(root));

		tap_ok(!good, "nothing is found in %s", texts[i]);
	}
}

int main(void)
{
	test_roundtrip();
	test_cut();
	test_malformed();
	return tap_done();
}
