/* SPDX-License-Identifier: MIT */
#include "cli/json-edit.h"

/* Before jansson, where a macro has the name of a function of it. */
#include "base/json-read.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"

enum { INDENT_MAX = 64 };

struct editor {
	const char *text; /* as it is */
	char *plain;      /* as long, with blanks for what is no JSON */
	size_t len;
	const char *newline;
	char unit[INDENT_MAX + 1]; /* of indentation */
};

/* --- comments --- */

static size_t string_end(const char *text, size_t len, size_t at)
{
	for (at++; at < len && text[at] != '"'; at++)
		if (text[at] == '\\')
			at++;
	return at < len ? at + 1 : len;
}

static size_t comment_end(const char *text, size_t len, size_t at)
{
	const char *end;

	if (at + 1 >= len || text[at] != '/')
		return at;
	if (text[at + 1] == '/') {
		end = memchr(text + at, '\n', len - at);
		return end ? (size_t)(end - text) : len;
	}
	if (text[at + 1] != '*')
		return at;
	end = memmem(text + at + 2, len - at - 2, "*/", 2);
	return end ? (size_t)(end - text) + 2 : at;
}

static void blank(char *text, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (text[i] != '\n' && text[i] != '\r')
			text[i] = ' ';
}

static size_t skip_blanks(const char *text, size_t len, size_t at)
{
	while (at < len && strchr(" \t\r\n", text[at]) && text[at])
		at++;
	return at;
}

/* Comments become blanks, and so do commas before a bracket that closes: offsets stay. */
static void blank_extras(char *text, size_t len)
{
	for (size_t at = 0, end; at < len;) {
		if (text[at] == '"') {
			at = string_end(text, len, at);
			continue;
		}
		end = comment_end(text, len, at);
		blank(text, at, end);
		at = end > at ? end : at + 1;
	}
	for (size_t at = 0; at < len;) {
		size_t next = at + 1;

		if (text[at] == '"') {
			at = string_end(text, len, at);
			continue;
		}
		if (text[at] == ',') {
			next = skip_blanks(text, len, at + 1);
			/* one comma, behind something */
			if (next < len && (text[next] == '}' || text[next] == ']'))
				text[at] = ' ';
		}
		at = next;
	}
}

static int parse(const char *text, size_t len, json_t **ret, struct err *err)
{
	json_error_t why;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);

	if (!root)
		return err_set(err, ERR_CONFIG, -EINVAL, "line %d, column %d: %s", why.line,
			       why.column, why.text);
	if (!json_is_object(root)) {
		json_decref(root);
		return err_set(err, ERR_CONFIG, -EINVAL, "it is no object");
	}
	*ret = root;
	return 0;
}

/* --- what is there, what is wanted --- */

static bool list_holds(const json_t *list, const json_t *item)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_equal(json_array_get(list, i), item))
			return true;
	return false;
}

static int refuse(const struct json_put *put, size_t depth, int r, const char *what,
		  struct err *err)
{
	_cleanup_(str_release) struct str path = {0};

	for (size_t i = 0; i <= depth; i++)
		(void)str_appendf(&path, "%s%s", i ? "." : "", put->path[i]);
	return err_set(err, ERR_CONFIG, r, "%s %s", str_text(&path), what);
}

/* Something else is there. What it has besides may matter more than what differs. */
static int refuse_other(const struct json_put *put, json_t *there, struct err *err)
{
	_cleanup_(str_release) struct str what = {0};
	const char *key;
	json_t *value;
	size_t n = 0;

	(void)str_append(&what, "is there already, and differs");
	json_object_foreach(there, key, value) if (!json_object_get(put->value, key))(void)
		str_appendf(&what, "%s%.100s", n++ ? ", " : "; it has besides: ", key);
	return refuse(put, put->n - 1, -EEXIST, str_text(&what), err);
}

/* How many keys of the path are there, the last one's value, and what is to be done there:
 * 0 nothing, 1 something. */
static int look(json_t *root, const struct json_put *put, size_t *ret_depth, json_t **ret_there,
		struct err *err)
{
	json_t *there = root;
	size_t depth = 0;

	for (; depth < put->n; depth++) {
		json_t *next = json_object_get(there, put->path[depth]);

		if (!next)
			break;
		there = next;
		if (depth + 1 < put->n && !json_is_object(there))
			return refuse(put, depth, -ENOTDIR, "is no object", err);
	}
	*ret_depth = depth;
	*ret_there = there;
	if (depth < put->n)
		return 1;
	if (put->is_item && !json_is_array(there))
		return refuse(put, depth - 1, -ENOTDIR, "is no list", err);
	if (put->is_item ? list_holds(there, put->value) : json_equal(there, put->value))
		return 0;
	return put->is_item || put->force ? 1 : refuse_other(put, there, err);
}

/* What the member behind the DEPTH keys that are there becomes. */
static json_t *wrapped(const struct json_put *put, size_t depth)
{
	json_t *value = put->is_item ? json_pack("[O]", put->value) : json_incref(put->value);

	for (size_t i = put->n - 1; value && i > depth; i--)
		value = json_pack("{s:o}", put->path[i], value);
	return value;
}

static json_t *expected(const json_t *root, const struct json_put *put, size_t depth)
{
	json_t *copy = json_deep_copy(root), *there = copy;
	int r;

	for (size_t i = 0; i + 1 < put->n && i < depth; i++)
		there = json_object_get(there, put->path[i]);
	if (depth == put->n && put->is_item)
		r = json_array_append(json_object_get(there, put->path[depth - 1]), put->value);
	else if (depth == put->n)
		r = json_object_set(there, put->path[depth - 1], put->value);
	else
		r = json_object_set_new(there, put->path[depth], wrapped(put, depth));
	if (r == 0)
		return copy;
	json_decref(copy);
	return NULL;
}

/* --- text --- */

/* The blanks that the line of AT begins with. */
static size_t line_indent(const struct editor *e, size_t at, char ret[static INDENT_MAX + 1])
{
	size_t start = at, n = 0;

	while (start > 0 && e->text[start - 1] != '\n')
		start--;
	while (n < INDENT_MAX && start + n < at &&
	       (e->text[start + n] == ' ' || e->text[start + n] == '\t'))
		n++;
	memcpy(ret, e->text + start, n);
	ret[n] = '\0';
	return start + n;
}

static bool has_newline(const struct editor *e, size_t from, size_t to)
{
	return from < to && memchr(e->text + from, '\n', to - from);
}

/* A list or an object in the text. */
struct span {
	size_t start, end; /* of its brackets; END behind the closing one */
	size_t first;      /* its first member or item; 0: none */
	size_t last_end;   /* where the last one ends */
};

static struct span span_of(const struct editor *e, struct json_slice slice)
{
	struct span span = {.start = (size_t)(slice.text - e->plain)};
	struct json_slice key, value;
	size_t cursor = 0;

	span.end = span.start + slice.len;
	if (*slice.text == '{') {
		while (json_next(slice, &cursor, &key, &value)) {
			if (!span.first)
				span.first = (size_t)(key.text - e->plain);
			span.last_end = (size_t)(value.text - e->plain) + value.len;
		}
	} else {
		while (json_next_item(slice, &cursor, &value)) {
			if (!span.first)
				span.first = (size_t)(value.text - e->plain);
			span.last_end = (size_t)(value.text - e->plain) + value.len;
		}
	}
	return span;
}

/* VALUE on lines of its own from the second on, which begin with INDENT. */
static int put_value(const struct editor *e, struct str *out, const json_t *value,
		     const char *indent, bool lines)
{
	/* One blank for each level, to be made into whatever is used here. */
	char *text = json_dumps(value, JSON_ENCODE_ANY | (lines ? JSON_INDENT(1) : 0));
	int r = text ? 0 : -ENOMEM;

	for (const char *at = text; r == 0 && *at;) {
		size_t len = strcspn(at, "\n");

		r = str_append_bytes(out, at, len);
		at += len;
		if (r < 0 || !*at)
			break;
		r = str_append(out, e->newline);
		if (r == 0)
			r = str_append(out, indent);
		for (at++; r == 0 && *at == ' '; at++)
			r = str_append(out, e->unit);
	}
	free(text);
	return r;
}

/* Is there a comma behind the last member, as JSON itself has none? */
static bool has_last_comma(const struct editor *e, struct span span)
{
	size_t at = span.last_end, close = span.end - 1, end;

	for (; at < close; at = end) {
		end = skip_blanks(e->text, close, at);
		end = comment_end(e->text, close, end);
		if (end == at)
			break;
	}
	return at < close && e->text[at] == ',';
}

/* What the lines of SPAN's members begin with. */
static void member_indent(const struct editor *e, struct span span, const char *base,
			  char ret[static 2 * INDENT_MAX + 1])
{
	if (!span.first || line_indent(e, span.first, ret) != span.first)
		snprintf(ret, 2 * INDENT_MAX + 1, "%s%s", base, e->unit);
}

static int put_line(const struct editor *e, struct str *out, const char *indent)
{
	int r = str_append(out, e->newline);

	return r < 0 ? r : str_append(out, indent);
}

/* E's text with a member (KEY not NULL) or an item more in SPAN. */
static int insert(const struct editor *e, struct span span, const char *key, const json_t *value,
		  struct str *out)
{
	char base[INDENT_MAX + 1], indent[2 * INDENT_MAX + 1];
	size_t close = span.end - 1, at = close, last = span.last_end;
	bool lines = span.first ? has_newline(e, span.start, span.end) : key != NULL;
	int r = 0;

	line_indent(e, span.start, base);
	member_indent(e, span, base, indent);
	/* behind the last word, which may be a comment */
	while (strchr(" \t\r\n", e->text[at - 1]))
		at--;
	if (!span.first)
		last = at;
	r = str_append_bytes(out, e->text, last);
	if (r == 0 && span.first && !has_last_comma(e, span))
		r = str_append_char(out, ',');
	if (r == 0)
		r = str_append_bytes(out, e->text + last, at - last);
	if (r == 0 && lines)
		r = put_line(e, out, indent);
	else if (r == 0 && span.first)
		r = str_append_char(out, ' ');
	if (r == 0 && key)
		r = str_appendf(out, "\"%s\": ", key);
	if (r == 0)
		r = put_value(e, out, value, indent, lines);
	if (r == 0 && lines && !has_newline(e, at, close))
		r = put_line(e, out, base);
	return r < 0 ? r : str_append_bytes(out, e->text + at, e->len - at);
}

static int replace(const struct editor *e, struct json_slice old, const json_t *value,
		   struct str *out)
{
	size_t start = (size_t)(old.text - e->plain), end = start + old.len;
	char indent[INDENT_MAX + 1];
	int r = str_append_bytes(out, e->text, start);

	line_indent(e, start, indent);
	if (r == 0)
		r = put_value(e, out, value, indent, has_newline(e, 0, e->len));
	return r < 0 ? r : str_append_bytes(out, e->text + end, e->len - end);
}

/* How the file is laid out: by its first member. */
static void find_style(struct editor *e, struct json_slice root)
{
	struct span span = span_of(e, root);
	const char *newline = memchr(e->text, '\n', e->len);

	e->newline = newline && newline > e->text && newline[-1] == '\r' ? "\r\n" : "\n";
	if (!span.first || line_indent(e, span.first, e->unit) != span.first || !*e->unit)
		snprintf(e->unit, sizeof(e->unit), "  ");
}

/* The text of DEPTH keys' value. Members have no escapes in the keys that we look for; one
 * that is written with them is found by nobody, and then refused by the check at the end. */
static bool find_slice(struct json_slice root, const struct json_put *put, size_t depth,
		       struct json_slice *ret)
{
	for (size_t i = 0; i < depth; i++)
		if (!json_get(root, put->path[i], &root))
			return false;
	*ret = root;
	return true;
}

static int change(struct editor *e, const struct json_put *put, size_t depth, struct str *out)
{
	struct json_slice root, there;
	json_t *value;
	int r;

	if (!json_slice_init(&root, e->plain, e->len) || !find_slice(root, put, depth, &there))
		return -EINVAL;
	find_style(e, root);
	if (depth == put->n)
		return put->is_item ? insert(e, span_of(e, there), NULL, put->value, out)
				    : replace(e, there, put->value, out);
	value = wrapped(put, depth);
	r = value ? insert(e, span_of(e, there), put->path[depth], value, out) : -ENOMEM;
	json_decref(value);
	return r;
}

/* Is TEXT the document WANT? */
static bool is_document(const struct str *text, const struct json_put *put, const json_t *want)
{
	_cleanup_(freep) char *plain = strndup(str_text(text), text->len);
	_cleanup_(json_decrefp) json_t *got = NULL;

	if (!plain || strlen(plain) != text->len)
		return false;
	if (put->comments)
		blank_extras(plain, text->len);
	return parse(plain, text->len, &got, NULL) == 0 && json_equal(got, want);
}

static int make_new(const struct json_put *put, struct str *ret_text, struct err *err)
{
	_cleanup_(json_decrefp) json_t *root = json_pack("{s:o}", put->path[0], wrapped(put, 0));
	char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
	int r = text ? str_append(ret_text, text) : -ENOMEM;

	free(text);
	return r == 0 && str_append_char(ret_text, '\n') == 0 ? 1 : err_oom(err);
}

int json_edit(const char *text, size_t len, const struct json_put *put, struct str *ret_text,
	      struct err *err)
{
	_cleanup_(json_decrefp) json_t *root = NULL, *want = NULL;
	_cleanup_(str_release) struct str out = {0};
	_cleanup_(freep) char *plain = NULL;
	struct editor e = {.text = text, .len = len};
	json_t *there;
	size_t depth = 0;
	int r;

	if (skip_blanks(text, len, 0) == len)
		return make_new(put, ret_text, err);
	plain = e.plain = malloc(len + 1);
	if (!plain)
		return err_oom(err);
	memcpy(plain, text, len);
	plain[len] = '\0';
	if (put->comments)
		blank_extras(plain, len);
	r = parse(plain, len, &root, err);
	if (r == 0)
		r = look(root, put, &depth, &there, err);
	if (r <= 0)
		return r;
	want = expected(root, put, depth);
	if (!want || change(&e, put, depth, &out) == -ENOMEM)
		return err_oom(err);
	if (!is_document(&out, put, want))
		return err_set(err, ERR_CONFIG, -EINVAL,
			       "it is written in a way that is not edited by machine");
	return str_append_bytes(ret_text, out.data, out.len) < 0 ? err_oom(err) : 1;
}
