/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "config/toml-impl.h"

int toml_edit_fail(struct err *err, int r, const char *const *path, size_t n, const char *fmt, ...)
{
	_cleanup_(str_release) struct str name = {0};
	char what[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (toml_path_quote(&name, path, n) < 0)
		return err_set(err, ERR_CONFIG, r, "the key %s", what);
	return err_set(err, ERR_CONFIG, r, "'%s' %s", str_text(&name), what);
}

bool toml_is_below(const struct toml_value *value, const struct toml_value *ancestor)
{
	while (value && value != ancestor)
		value = value->parent;
	return value;
}

int toml_replace_text(struct toml *doc, const struct str *text, struct err *err)
{
	_cleanup_(toml_freep) struct toml *fresh = NULL;
	struct toml old = *doc;
	int r;

	r = toml_parse(str_text(text), text->len, &fresh, NULL, err);
	if (r < 0)
		return r;
	*doc = *fresh;
	*fresh = old;
	return 0;
}

int toml_locate(const struct toml *doc, const char *const *path, size_t n,
		struct toml_place *ret_place, struct err *err)
{
	struct toml_place place = {.table = doc->root, .base = doc->root};

	if (n == 0)
		return err_set(err, ERR_CONFIG, -EINVAL, "an empty path names no key");
	for (size_t i = 0; i < n; i++) {
		const struct toml_entry *entry = toml_find(place.table, path[i], strlen(path[i]));
		const struct toml_value *value;

		if (!entry)
			break;
		if (i == n - 1) {
			place.entry = entry;
			break;
		}
		value = entry->value;
		if (value->type == TOML_ARRAY && value->origin == TOML_FROM_HEADER)
			return toml_edit_fail(
				err, -ENOTDIR, path, i + 1,
				"is an array of tables, which cannot be edited by key");
		if (value->type != TOML_TABLE)
			return toml_edit_fail(err, -ENOTDIR, path, i + 1,
					      "on line %u is not a table but of type %s",
					      entry->pos.line, toml_type_name(value->type));
		place.table = value;
		place.depth = i + 1;
		if (value->origin != TOML_FROM_DOTTED) {
			place.base = value;
			place.base_depth = i + 1;
		}
	}
	*ret_place = place;
	return 0;
}

/* The text with CUT bytes at AT replaced by INSERT. */
static int splice(struct toml *doc, size_t at, size_t cut, const char *insert, size_t len,
		  struct err *err)
{
	_cleanup_(str_release) struct str text = {0};

	if (str_append_bytes(&text, doc->text, at) < 0 ||
	    str_append_bytes(&text, insert, len) < 0 ||
	    str_append_bytes(&text, doc->text + at + cut, doc->len - at - cut) < 0)
		return err_oom(err);
	return toml_replace_text(doc, &text, err);
}

static const char *line_end(const struct toml *doc)
{
	const char *newline = memchr(doc->text, '\n', doc->len);

	return newline && newline > doc->text && newline[-1] == '\r' ? "\r\n" : "\n";
}

static bool ends_in_newline(const struct toml *doc, size_t end)
{
	return end > 0 && doc->text[end - 1] == '\n';
}

struct section {
	size_t begin, end; /* segments */
	size_t after;      /* index of the segment behind which a new line goes */
	bool found;        /* false: there is none such */
};

/* The section of BASE, and in it the last entry that is below TABLE. */
static struct section find_section(const struct toml *doc, const struct toml_value *base,
				   const struct toml_value *table)
{
	struct section s = {0};
	const struct toml_segment *segments = doc->segments;

	while (base != doc->root && segments[s.begin].node != base)
		s.begin++;
	if (base != doc->root) {
		s.after = s.begin;
		s.found = true;
	}
	for (s.end = s.begin + s.found; s.end < doc->segments_len; s.end++) {
		if (segments[s.end].kind == TOML_SEGMENT_HEADER)
			break;
		if (segments[s.end].kind == TOML_SEGMENT_ENTRY &&
		    toml_is_below(segments[s.end].node, table)) {
			s.after = s.end;
			s.found = true;
		}
	}
	return s;
}

/* Where the first key of the root goes: to the end of a file without headers;
 * else behind the comment block that opens the file, if a blank line shows
 * that it is not about the first header. */
static size_t first_root_line(const struct toml *doc, struct section s)
{
	size_t i = doc->segments_len && doc->segments[0].kind == TOML_SEGMENT_BOM;
	size_t start = i ? doc->segments[0].end : 0;
	size_t comments = i;

	if (s.end == doc->segments_len)
		return doc->len;
	while (doc->segments[comments].kind == TOML_SEGMENT_COMMENT)
		comments++;
	if (comments > i && doc->segments[comments].kind == TOML_SEGMENT_BLANK)
		return doc->segments[comments].end;
	return start;
}

static int append_assignment(struct str *out, const char *const *path, size_t n, struct str *value)
{
	int r = toml_path_quote(out, path, n);

	if (r == 0)
		r = str_append(out, " = ");
	return r < 0 ? r : str_append_bytes(out, value->data, value->len);
}

static int add_line(struct toml *doc, const struct toml_place *place, const char *const *path,
		    size_t n, struct str *value, struct err *err)
{
	_cleanup_(str_release) struct str line = {0};
	struct section s = find_section(doc, place->base, place->table);
	size_t at = s.found ? doc->segments[s.after].end : first_root_line(doc, s);
	const char *newline = line_end(doc);
	bool bom_only = at > 0 && doc->segments[0].kind == TOML_SEGMENT_BOM && at == 3;
	bool open_end = at > 0 && !bom_only && !ends_in_newline(doc, at);
	size_t indent = 0;
	int r = 0;

	if (open_end)
		r = str_append(&line, newline);
	if (r == 0 && s.found) {
		const char *start = doc->text + doc->segments[s.after].start;

		indent = strspn(start, " \t");
		r = str_append_bytes(&line, start, indent);
	}
	if (r == 0)
		r = append_assignment(&line, path + place->base_depth, n - place->base_depth,
				      value);
	if (r == 0 && !open_end)
		r = str_append(&line, newline);
	if (r < 0)
		return err_oom(err);
	return splice(doc, at, 0, line.data, line.len, err);
}

static int add_inline(struct toml *doc, const struct toml_place *place, const char *const *path,
		      size_t n, struct str *value, struct err *err)
{
	_cleanup_(str_release) struct str entry = {0};
	size_t brace = place->base->end - 1;
	size_t at = brace;
	bool empty;
	int r;

	while (doc->text[at - 1] == ' ' || doc->text[at - 1] == '\t')
		at--;
	empty = at - 1 == place->base->start;
	r = empty ? 0 : str_append(&entry, ", ");
	if (r == 0)
		r = append_assignment(&entry, path + place->base_depth, n - place->base_depth,
				      value);
	if (r == 0 && empty && at < brace)
		r = str_append_char(&entry, ' ');
	if (r < 0)
		return err_oom(err);
	return splice(doc, empty ? brace : at, 0, entry.data, entry.len, err);
}

static int append_header(struct str *out, const char *const *path, size_t n, const char *newline)
{
	int r = str_append_char(out, '[');

	if (r == 0)
		r = toml_path_quote(out, path, n);
	if (r == 0)
		r = str_append_char(out, ']');
	return r < 0 ? r : str_append(out, newline);
}

static int add_table(struct toml *doc, const char *const *path, size_t n, struct str *value,
		     struct err *err)
{
	_cleanup_(str_release) struct str lines = {0};
	enum toml_segment_kind last = TOML_SEGMENT_BOM;
	const char *newline = line_end(doc);
	bool open_end;
	int r = 0;

	if (doc->segments_len)
		last = doc->segments[doc->segments_len - 1].kind;
	open_end = last != TOML_SEGMENT_BOM && !ends_in_newline(doc, doc->len);
	if (open_end)
		r = str_append(&lines, newline);
	if (r == 0 && last != TOML_SEGMENT_BOM && last != TOML_SEGMENT_BLANK)
		r = str_append(&lines, newline);
	if (r == 0)
		r = append_header(&lines, path, n - 1, newline);
	if (r == 0)
		r = append_assignment(&lines, path + n - 1, 1, value);
	if (r == 0 && !open_end)
		r = str_append(&lines, newline);
	if (r < 0)
		return err_oom(err);
	return splice(doc, doc->len, 0, lines.data, lines.len, err);
}

/* VALUE_TEXT without the blanks around it, once it is known to be a value. */
static int read_value(const char *value_text, struct str *ret_value, struct err *err)
{
	size_t len = strlen(value_text);
	size_t blanks = strspn(value_text, " \t");
	int r;

	while (len > blanks && (value_text[len - 1] == ' ' || value_text[len - 1] == '\t'))
		len--;
	r = toml_check_value(value_text + blanks, len - blanks, err);
	if (r < 0)
		return r;
	return str_append_bytes(ret_value, value_text + blanks, len - blanks) < 0 ? err_oom(err)
										  : 0;
}

static int check_path(const char *const *path, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(path[i]);

		for (size_t at = 0, step; at < len; at += step) {
			step = toml_utf8_len(path[i] + at, len - at);
			if (step == 0)
				return err_set(err, ERR_CONFIG, -EILSEQ,
					       "a key is not valid UTF-8");
		}
	}
	return 0;
}

int toml_set(struct toml *doc, const char *const *path, size_t n, const char *value_text,
	     struct err *err)
{
	_cleanup_(str_release) struct str value = {0};
	struct toml_place place;
	int r;

	r = check_path(path, n, err);
	if (r < 0)
		return r;
	r = toml_locate(doc, path, n, &place, err);
	if (r < 0)
		return r;
	r = read_value(value_text, &value, err);
	if (r < 0)
		return r;
	if (place.entry) {
		const struct toml_value *old = place.entry->value;

		if (old->origin != TOML_FROM_VALUE)
			return toml_edit_fail(err, -EEXIST, path, n,
					      "is a table (line %u), not a single value",
					      old->pos.line);
		return splice(doc, old->start, old->end - old->start, value.data, value.len, err);
	}
	if (place.base->origin == TOML_FROM_VALUE)
		return add_inline(doc, &place, path, n, &value, err);
	if (place.table->origin == TOML_FROM_DOTTED ||
	    (place.table->origin == TOML_FROM_HEADER && n - place.depth == 1))
		return add_line(doc, &place, path, n, &value, err);
	return add_table(doc, path, n, &value, err);
}
