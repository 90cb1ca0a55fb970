/* SPDX-License-Identifier: MIT */
/* What a tool has answered, as text and as JSON. Values are anybody's bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/cmd-file.h"
#include "files/reply.h"

enum shape { NUMBER, FLAG, TEXT, NEXT };

/* The fields that are one member each. */
static const struct {
	const char *key, *member;
	enum shape shape;
} members[] = {
	{"path", "path", TEXT},
	{"size", "size", NUMBER},
	{"digest", "digest", TEXT},
	{"no_digest", "digest_missing", TEXT},
	{"total_lines", "total_lines", NUMBER},
	{"offset", "offset", NUMBER},
	{"lines", "lines", NUMBER},
	{"next", "next_offset", NEXT},
	{"cut", "cut_lines", NUMBER},
	{"utf_eight", "utf8", FLAG},
	{"text", "text", TEXT},
	{"bytes", "bytes", NUMBER},
	{"created", "created", FLAG},
	{"count", "count", NUMBER},
	{"match_lines", "match_lines", TEXT},
	{"diff", "diff", TEXT},
	{"diff_cut", "diff_cut", FLAG},
	{"files", "files", NUMBER},
	{"matched", "matched", NUMBER},
	{"binary", "binary_files", NUMBER},
	{"unread", "unread_files", NUMBER},
	{"total", "total", NUMBER},
	{"more", "more", FLAG},
};

/* A line that grep found: "LINE CUT KIND TEXT". */
struct grep_line {
	uint64_t line, cut;
	bool is_match;
	const char *text;
	size_t len;
};

static bool take_number(const char **at, const char *end, uint64_t *ret)
{
	struct reply_field number = {.value = *at};
	const char *blank = memchr(*at, ' ', (size_t)(end - *at));

	if (!blank)
		return false;
	number.len = (size_t)(blank - *at);
	*at = blank + 1;
	return reply_get_number(&number, ret);
}

static bool take_line(const struct reply_field *field, struct grep_line *ret)
{
	const char *at = field->value, *end = field->value + field->len;

	if (!take_number(&at, end, &ret->line) || !take_number(&at, end, &ret->cut) ||
	    end - at < 2 || at[1] != ' ')
		return false;
	ret->is_match = *at == 'm';
	ret->text = at + 2;
	ret->len = (size_t)(end - ret->text);
	return true;
}

static void add_bytes(struct json *json, const char *key, const char *text, size_t len)
{
	_cleanup_(freep) char *copy = strndup(text, len);

	if (!copy)
		json->error = -ENOMEM;
	else
		json_add_string(json, key, copy);
}

static void add_member(struct json *json, size_t i, const struct reply_field *field)
{
	uint64_t number = 0;

	if (members[i].shape == TEXT) {
		add_bytes(json, members[i].member, field->value, field->len);
		return;
	}
	if (!reply_get_number(field, &number))
		return;
	if (members[i].shape == FLAG)
		json_add_bool(json, members[i].member, number != 0);
	else if (members[i].shape == NEXT && number == 0)
		json_add_null(json, members[i].member);
	else
		json_add_uint(json, members[i].member, number);
}

static void add_members(const struct str *reply, struct json *json)
{
	struct reply_reader reader;
	struct reply_field field;
	bool seen[array_len(members)] = {0};

	if (!reply_begin(&reader, str_text(reply), reply->len))
		return;
	while (reply_next(&reader, &field) > 0)
		for (size_t i = 0; i < array_len(members); i++)
			if (!seen[i] && str_eq(members[i].key, field.key)) {
				seen[i] = true;
				add_member(json, i, &field);
			}
}

static void add_match(struct json *json, const struct reply_field *file,
		      const struct reply_field *field)
{
	struct grep_line line;

	if (!file->value || !take_line(field, &line))
		return;
	json_begin_object(json, NULL);
	add_bytes(json, "path", file->value, file->len);
	json_add_uint(json, "line", line.line);
	add_bytes(json, "text", line.text, line.len);
	json_add_bool(json, "context", !line.is_match);
	if (line.cut)
		json_add_uint(json, "cut_bytes", line.cut);
	json_end_object(json);
}

static void add_list(enum file_tool tool, const struct str *reply, struct json *json)
{
	struct reply_reader reader;
	struct reply_field field, file = {.value = NULL};

	if (!reply_begin(&reader, str_text(reply), reply->len))
		return;
	json_begin_array(json, tool == FILE_GREP ? "matches" : "paths");
	while (reply_next(&reader, &field) > 0) {
		if (tool == FILE_GLOB && str_eq(field.key, "entry"))
			add_bytes(json, NULL, field.value, field.len);
		else if (str_eq(field.key, "file"))
			file = field;
		else if (tool == FILE_GREP && str_eq(field.key, "line"))
			add_match(json, &file, &field);
	}
	json_end_array(json);
}

int file_show_json(enum file_tool tool, const struct str *reply, struct json *json)
{
	add_members(reply, json);
	if (tool == FILE_GREP || tool == FILE_GLOB)
		add_list(tool, reply, json);
	return json->error;
}

static int append_shown(struct str *out, const char *text, size_t len, bool raw)
{
	const char *end = text + len;
	int r = 0;

	if (raw)
		return str_append_bytes(out, text, len);
	while (text < end && r == 0) {
		size_t part = 0;

		while (text + part < end && text[part] != '\n' && text[part] != '\t')
			part++;
		r = str_append_escaped(out, text, part);
		text += part;
		if (r == 0 && text < end)
			r = str_append_char(out, *text++);
	}
	return r;
}

/* A name: on one line, whatever is in it. */
static int append_name(struct str *out, const struct reply_field *name)
{
	return str_append_escaped(out, name->value, name->len);
}

static int show_line(const struct reply_field *file, const struct reply_field *field, bool raw,
		     struct str *out)
{
	struct grep_line line;
	int r;

	if (!file->value || !take_line(field, &line))
		return 0;
	r = append_name(out, file);
	if (r == 0)
		r = str_appendf(out, line.is_match ? ":%llu:" : "-%llu-",
				(unsigned long long)line.line);
	if (r == 0)
		r = append_shown(out, line.text, line.len, raw);
	if (r == 0 && line.cut)
		r = str_appendf(out, " […%llu bytes]", (unsigned long long)(line.len + line.cut));
	return r < 0 ? r : str_append_char(out, '\n');
}

/* What is worth a line besides. */
static int show_note(const struct reply_field *field, struct str *notes)
{
	uint64_t n;

	if (str_eq(field->key, "no_digest") || !reply_get_number(field, &n) || n == 0)
		return 0;
	if (str_eq(field->key, "next"))
		return str_appendf(notes, "pale: more lines follow: --offset %llu\n",
				   (unsigned long long)n);
	if (str_eq(field->key, "cut"))
		return str_appendf(notes, "pale: %llu long line%s cut\n", (unsigned long long)n,
				   n == 1 ? " is" : "s are");
	if (str_eq(field->key, "more"))
		return str_append(notes, "pale: more was found than is shown: narrow it down, or "
					 "raise --max\n");
	if (str_eq(field->key, "binary"))
		return str_appendf(notes, "pale: %llu binary file%s not searched\n",
				   (unsigned long long)n, n == 1 ? " was" : "s were");
	if (str_eq(field->key, "unread"))
		return str_appendf(notes, "pale: %llu file%s could not be read\n",
				   (unsigned long long)n, n == 1 ? "" : "s");
	return 0;
}

static int show_field(enum file_tool tool, const struct reply_field *field,
		      const struct reply_field *file, bool raw, struct str *out)
{
	int r = 0;

	if (str_eq(field->key, "text") || str_eq(field->key, "diff"))
		return append_shown(out, field->value, field->len, raw);
	if (tool == FILE_GREP && str_eq(field->key, "line"))
		return show_line(file, field, raw, out);
	if (tool == FILE_GLOB && str_eq(field->key, "entry")) {
		r = append_name(out, field);
		return r < 0 ? r : str_append_char(out, '\n');
	}
	return r;
}

int file_show_text(enum file_tool tool, const struct str *reply, bool raw, struct str *out,
		   struct str *notes)
{
	struct reply_reader reader;
	struct reply_field field, file = {.value = NULL};
	int r = 0;

	if (!reply_begin(&reader, str_text(reply), reply->len))
		return 0;
	while (r == 0 && reply_next(&reader, &field) > 0) {
		if (str_eq(field.key, "file"))
			file = field;
		r = show_field(tool, &field, &file, raw, out);
		if (r == 0)
			r = show_note(&field, notes);
		if (r == 0 && str_eq(field.key, "utf_eight") && field.len == 1 &&
		    *field.value == '0')
			r = str_append(notes, "pale: this is not valid UTF-8\n");
	}
	return r;
}
