/* SPDX-License-Identifier: MIT */
/* Whatever is edited keeps all its bytes, in order, and then holds the value. */
#include <jansson.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/json-edit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		__builtin_trap();
}

static void edit(const char *text, size_t len, bool is_item, bool comments)
{
	static const char *const path[] = {"a", "b"};
	_cleanup_(str_release) struct str out = {0}, again = {0};
	struct json_put put = {path, 2, json_string("x"), is_item, false, comments};
	size_t at = 0;

	if (json_edit(text, len, &put, &out, NULL) == 1) {
		if (text[0] == '{') {
			for (size_t i = 0; i < out.len && at < len; i++)
				at += out.data[i] == text[at];
			must(at == len);
		}
		must(json_edit(out.data, out.len, &put, &again, NULL) == 0);
	}
	json_decref(put.value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(freep) char *text = malloc(size + 1);

	for (size_t i = 0; i < size; i++)
		text[i] = (char)data[i];
	text[size] = '\0';
	for (int i = 0; i < 4; i++)
		edit(text, size, i & 1, i & 2);
	return 0;
}
