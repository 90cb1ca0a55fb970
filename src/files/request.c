/* SPDX-License-Identifier: MIT */
#include "files/request.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

#define PREFIX "file-"

enum type { TEXT, LIST, NUMBER, FLAG };

static const struct {
	const char *key;
	enum type type;
	size_t offset;
} fields[] = {
	{"cwd", TEXT, offsetof(struct file_request, cwd)},
	{"workspace", TEXT, offsetof(struct file_request, workspace)},
	{"root", LIST, offsetof(struct file_request, roots)},
	{"guard", LIST, offsetof(struct file_request, guards)},
	{"path", LIST, offsetof(struct file_request, paths)},
	{"glob", LIST, offsetof(struct file_request, globs)},
	{"pattern", TEXT, offsetof(struct file_request, pattern)},
	{"digest", TEXT, offsetof(struct file_request, digest)},
	{"offset", NUMBER, offsetof(struct file_request, offset)},
	{"limit", NUMBER, offsetof(struct file_request, limit)},
	{"context", NUMBER, offsetof(struct file_request, context)},
	{"max", NUMBER, offsetof(struct file_request, max)},
	{"all", FLAG, offsetof(struct file_request, all)},
	{"fixed", FLAG, offsetof(struct file_request, fixed)},
	{"ignore-case", FLAG, offsetof(struct file_request, ignore_case)},
	{"by-name", FLAG, offsetof(struct file_request, by_name)},
	{"no-ignore", FLAG, offsetof(struct file_request, no_ignore)},
};

static const char *const tool_names[FILE_TOOL_COUNT_] = {
	[FILE_READ] = "read", [FILE_WRITE] = "write", [FILE_EDIT] = "edit",
	[FILE_GREP] = "grep", [FILE_GLOB] = "glob",
};

const char *file_tool_name(enum file_tool tool)
{
	return tool_names[tool];
}

static int pack_list(const char *key, const struct strv *list, struct strv *words)
{
	int r = 0;

	for (size_t i = 0; i < list->len && r == 0; i++)
		r = strv_addf(words, "%s=%s", key, list->items[i]);
	return r;
}

static int pack_field(size_t i, const char *base, struct strv *words)
{
	const char *key = fields[i].key;
	const void *at = base + fields[i].offset;

	switch (fields[i].type) {
	case TEXT: {
		const char *text = *(const char *const *)at;

		return text ? strv_addf(words, "%s=%s", key, text) : 0;
	}
	case LIST:
		return pack_list(key, at, words);
	case NUMBER:
		return strv_addf(words, "%s=%llu", key, (unsigned long long)*(const uint64_t *)at);
	case FLAG:
		return *(const bool *)at ? strv_addf(words, "%s=1", key) : 0;
	}
	return 0;
}

int file_request_pack(const struct file_request *request, struct strv *words)
{
	int r = strv_addf(words, PREFIX "%s", tool_names[request->tool]);

	for (size_t i = 0; i < array_len(fields) && r == 0; i++)
		r = pack_field(i, (const char *)request, words);
	return r;
}

static bool parse_number(const char *text, uint64_t *ret)
{
	uint64_t n = 0;

	if (!*text)
		return false;
	for (; *text; text++)
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n))
			return false;
	*ret = n;
	return true;
}

static bool parse_value(size_t i, const char *value, char *base)
{
	void *at = base + fields[i].offset;

	switch (fields[i].type) {
	case TEXT:
		*(const char **)at = value;
		return true;
	case LIST:
		return strv_add(at, value) == 0;
	case NUMBER:
		return parse_number(value, at);
	case FLAG:
		*(bool *)at = true;
		return str_eq(value, "1");
	}
	return false;
}

static bool parse_word(const char *word, struct file_request *ret)
{
	size_t len = strcspn(word, "=");

	for (size_t i = 0; word[len] && i < array_len(fields); i++)
		if (strlen(fields[i].key) == len && memcmp(fields[i].key, word, len) == 0)
			return parse_value(i, word + len + 1, (char *)ret);
	return false;
}

bool file_request_parse(char *const *words, struct file_request *ret)
{
	size_t tool = 0, n = 1;

	*ret = (struct file_request){0};
	if (!words[0] || !str_starts(words[0], PREFIX))
		return false;
	while (tool < FILE_TOOL_COUNT_ && !str_eq(tool_names[tool], words[0] + strlen(PREFIX)))
		tool++;
	if (tool == FILE_TOOL_COUNT_)
		return false;
	ret->tool = (enum file_tool)tool;
	for (; words[n]; n++)
		if (n == FILE_WORDS_MAX || !parse_word(words[n], ret))
			return false;
	return ret->cwd && ret->cwd[0] == '/';
}

void file_request_release(struct file_request *request)
{
	strv_release(&request->roots);
	strv_release(&request->guards);
	strv_release(&request->paths);
	strv_release(&request->globs);
	*request = (struct file_request){0};
}

const char *file_path_fault(const char *text)
{
	size_t len = strnlen(text, FILE_PATH_MAX + 1);

	if (len == 0)
		return "it is empty";
	if (len > FILE_PATH_MAX)
		return "it is too long";
	return str_is_utf8(text, len) ? NULL : "it is not UTF-8";
}
