/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "config/toml-impl.h"

static bool is_blank_char(char c)
{
	return c == ' ' || c == '\t';
}

/* Cut `key = value` out of an inline table, with one of the commas. */
static int cut_inline(struct toml *doc, const struct toml_entry *entry, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	size_t start = entry->start;
	size_t end = entry->value->end;
	size_t before = start;
	size_t behind = end;

	while (is_blank_char(doc->text[before - 1]))
		before--;
	while (is_blank_char(doc->text[behind]))
		behind++;
	if (doc->text[behind] == ',') {
		end = behind + 1;
		while (is_blank_char(doc->text[end]))
			end++;
	} else if (doc->text[before - 1] == ',') {
		start = before - 1;
	} else {
		end = behind;
	}
	if (str_append_bytes(&text, doc->text, start) < 0 ||
	    str_append_bytes(&text, doc->text + end, doc->len - end) < 0)
		return err_oom(err);
	return toml_replace_text(doc, &text, err);
}

/* A table made of dotted keys is several entries: cut one after the other, in
 * a copy, so that a failure half-way changes nothing. */
static int unset_inline(struct toml *doc, const char *const *path, size_t n, struct err *err)
{
	_cleanup_(toml_freep) struct toml *copy = NULL;
	struct toml_place place;
	struct toml old = *doc;
	int r;

	r = toml_parse(doc->text, doc->len, &copy, NULL, err);
	if (r < 0)
		return r;
	for (;;) {
		const struct toml_entry *entry;

		r = toml_locate(copy, path, n, &place, err);
		if (r < 0)
			return r;
		entry = place.entry;
		if (!entry)
			break;
		while (entry->value->origin != TOML_FROM_VALUE)
			entry = entry->value->table.first;
		r = cut_inline(copy, entry, err);
		if (r < 0)
			return r;
	}
	*doc = *copy;
	*copy = old;
	return 0;
}

/* Mark what goes with the header at I besides its entries: all up to the last
 * entry; a comment block above that touches the header and nothing else; one
 * below that touches the last entry and nothing else; blank lines below. */
static void drop_section(const struct toml *doc, size_t i, bool *drop)
{
	const struct toml_segment *segments = doc->segments;
	size_t n = doc->segments_len;
	size_t above = i;
	size_t last = i;
	size_t below;

	while (above > 0 && segments[above - 1].kind == TOML_SEGMENT_COMMENT)
		above--;
	if (above > 0 && segments[above - 1].kind == TOML_SEGMENT_BLANK)
		memset(drop + above, 1, i - above);
	for (size_t k = i + 1; k < n && segments[k].kind != TOML_SEGMENT_HEADER; k++) {
		if (segments[k].kind == TOML_SEGMENT_ENTRY)
			last = k;
	}
	below = last + 1;
	while (below < n && segments[below].kind == TOML_SEGMENT_COMMENT)
		below++;
	if (below < n && segments[below].kind == TOML_SEGMENT_HEADER)
		below = last + 1;
	while (below < n && segments[below].kind == TOML_SEGMENT_BLANK)
		below++;
	memset(drop + i, 1, below - i);
}

static void mark(const struct toml *doc, const struct toml_value *node, bool *drop)
{
	const struct toml_segment *segments = doc->segments;
	bool sections = false;

	for (size_t i = 0; i < doc->segments_len; i++) {
		if (!toml_is_below(segments[i].node, node))
			continue;
		drop[i] = true;
		if (segments[i].kind == TOML_SEGMENT_HEADER) {
			sections = true;
			drop_section(doc, i, drop);
		}
	}
	if (!sections || !drop[doc->segments_len - 1])
		return;
	/* The blank lines that set the last section off. */
	for (size_t i = doc->segments_len; i-- > 0;) {
		if (!drop[i] && segments[i].kind != TOML_SEGMENT_BLANK)
			break;
		drop[i] = true;
	}
}

static int unset_lines(struct toml *doc, const struct toml_value *node, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(freep) bool *drop = calloc(doc->segments_len, sizeof(*drop));
	bool open_end = doc->text[doc->len - 1] != '\n';

	if (!drop)
		return err_oom(err);
	mark(doc, node, drop);
	for (size_t i = 0; i < doc->segments_len; i++) {
		const struct toml_segment *s = &doc->segments[i];

		if (!drop[i] &&
		    str_append_bytes(&text, doc->text + s->start, s->end - s->start) < 0)
			return err_oom(err);
	}
	/* A file without a final newline stays one. */
	if (open_end && drop[doc->segments_len - 1] && text.len &&
	    text.data[text.len - 1] == '\n') {
		str_truncate(&text, text.len - 1);
		if (text.len && text.data[text.len - 1] == '\r')
			str_truncate(&text, text.len - 1);
	}
	return toml_replace_text(doc, &text, err);
}

int toml_unset(struct toml *doc, const char *const *path, size_t n, struct err *err)
{
	struct toml_place place;
	int r;

	r = toml_locate(doc, path, n, &place, err);
	if (r < 0)
		return r;
	if (!place.entry)
		return toml_edit_fail(err, -ENOENT, path, n, "is not set");
	if (place.base->origin == TOML_FROM_VALUE)
		return unset_inline(doc, path, n, err);
	return unset_lines(doc, place.entry->value, err);
}
