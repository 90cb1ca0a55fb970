/* SPDX-License-Identifier: MIT */
/* Bytes are what a file tool wrote, or the words that it is asked by: whatever they are, they
 * are refused, or shown and give themselves again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json-read.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/cmd-file.h"
#include "files/request.h"
#include "session/file-tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_reply(const char *text, size_t len)
{
	struct str reply = {.data = (char *)text, .len = len};
	struct file_verdict verdict;

	if (file_reply_check(text, len, &verdict) < 0)
		return;
	if (verdict.code >= FILE_CODE_COUNT_)
		abort();
	for (int tool = 0; tool < FILE_TOOL_COUNT_; tool++) {
		struct str out = {0}, notes = {0}, json_text = {0};
		struct json json = {.out = &json_text};
		struct json_slice whole;

		if (file_show_text((enum file_tool)tool, &reply, false, &out, &notes) < 0)
			abort();
		/* nothing that a terminal obeys */
		for (size_t i = 0; i < out.len; i++)
			if ((unsigned char)out.data[i] < 0x20 && !strchr("\n\t", out.data[i]))
				abort();
		json_begin_object(&json, NULL);
		if (file_show_json((enum file_tool)tool, &reply, &json) < 0)
			abort();
		json_end_object(&json);
		if (json_finish(&json) < 0 ||
		    !json_slice_init(&whole, json_text.data, json_text.len) ||
		    whole.len != json_text.len || !str_is_utf8(json_text.data, json_text.len))
			abort();
		str_release(&out);
		str_release(&notes);
		str_release(&json_text);
	}
}

static void check_request(const char *text, size_t len)
{
	struct strv words = {0}, again = {0}, third = {0};
	struct file_request request = {0}, other = {0};

	for (size_t at = 0; at < len && words.len < 64; at += strlen(text + at) + 1)
		if (strv_add(&words, text + at) < 0)
			abort();
	if (words.len > 0 && file_request_parse(words.items, &request)) {
		if (file_request_pack(&request, &again) < 0 ||
		    !file_request_parse(again.items, &other) ||
		    file_request_pack(&other, &third) < 0 || !strv_eq(&again, &third))
			abort();
	}
	file_request_release(&request);
	file_request_release(&other);
	strv_release(&words);
	strv_release(&again);
	strv_release(&third);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_reply(text, size);
	check_request(text, size);
	free(text);
	return 0;
}
