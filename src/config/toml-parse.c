/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "config/toml-impl.h"

static int fail_defined(struct toml_parser *p, const struct toml_key *key, unsigned line,
			const char *what)
{
	const char *name = p->text + p->keys[0].start;
	int len = (int)(key->end - p->keys[0].start);

	return toml_fail(p, key->start, "'%.*s' is already defined on line %u%s", len, name, line,
			 what);
}

/* The table that all but the last key of a header lead to. */
static int enter_header(struct toml_parser *p, struct toml_value **table)
{
	for (size_t i = 0; i + 1 < p->keys_len; i++) {
		const struct toml_key *key = &p->keys[i];
		struct toml_entry *entry = toml_find(*table, key->bytes, key->len);
		struct toml_value *value;

		if (!entry) {
			entry = toml_entry_new(p, *table, key, TOML_TABLE, TOML_FROM_SUBTABLE);
			if (!entry)
				return err_oom(p->err);
		}
		value = entry->value;
		if (value->type == TOML_ARRAY && value->origin == TOML_FROM_HEADER)
			value = value->array.items[value->array.len - 1];
		if (value->type != TOML_TABLE)
			return fail_defined(p, key, entry->pos.line, " and is not a table");
		if (value->origin == TOML_FROM_VALUE)
			return fail_defined(p, key, entry->pos.line,
					    " as an inline table, which cannot be added to");
		*table = value;
	}
	return 0;
}

static int define_table(struct toml_parser *p, struct toml_value *parent,
			struct toml_value **ret_table)
{
	const struct toml_key *key = &p->keys[p->keys_len - 1];
	struct toml_entry *entry = toml_find(parent, key->bytes, key->len);

	if (!entry) {
		entry = toml_entry_new(p, parent, key, TOML_TABLE, TOML_FROM_HEADER);
		if (!entry)
			return err_oom(p->err);
	} else if (entry->value->origin != TOML_FROM_SUBTABLE) {
		return fail_defined(p, key, entry->value->pos.line, "");
	}
	*ret_table = entry->value;
	return 0;
}

static int define_element(struct toml_parser *p, struct toml_value *parent,
			  struct toml_value **ret_table)
{
	const struct toml_key *key = &p->keys[p->keys_len - 1];
	struct toml_entry *entry = toml_find(parent, key->bytes, key->len);
	struct toml_value *table;

	if (!entry) {
		entry = toml_entry_new(p, parent, key, TOML_ARRAY, TOML_FROM_HEADER);
		if (!entry)
			return err_oom(p->err);
	} else if (entry->value->type != TOML_ARRAY || entry->value->origin != TOML_FROM_HEADER) {
		return fail_defined(p, key, entry->value->pos.line,
				    " and is not an array of tables");
	}
	table = toml_value_new(p->doc, TOML_TABLE);
	if (!table || toml_push(p->doc, entry->value, table) < 0)
		return err_oom(p->err);
	*ret_table = table;
	return 0;
}

static int parse_header(struct toml_parser *p, struct toml_value **ret_table)
{
	size_t start = p->at;
	bool element = p->text[start + 1] == '[';
	struct toml_value *table = p->doc->root;
	int r;

	p->at += element ? 2 : 1;
	r = toml_lex_keys(p);
	if (r < 0)
		return r;
	if (p->text[p->at] != ']' || (element && p->text[p->at + 1] != ']'))
		return toml_fail(p, p->at, "expected '%s' after the table's name",
				 element ? "]]" : "]");
	p->at += element ? 2 : 1;
	p->section++;
	p->depth = (unsigned)p->keys_len;
	r = enter_header(p, &table);
	if (r < 0)
		return r;
	r = element ? define_element(p, table, &table) : define_table(p, table, &table);
	if (r < 0)
		return r;
	table->origin = TOML_FROM_HEADER;
	table->section = p->section;
	table->pos = toml_pos_at(p, start);
	*ret_table = table;
	return 0;
}

/* What may follow a header or an entry on its line. */
static int end_line(struct toml_parser *p, const char *what)
{
	toml_lex_blanks(p);
	toml_lex_comment(p);
	if (p->at < p->len && !toml_lex_newline(p))
		return toml_fail(p, p->at, "unexpected text after the %s", what);
	return 0;
}

/* One segment; *TABLE is the table whose section it stands in. */
static int parse_line(struct toml_parser *p, struct toml_value **table)
{
	enum toml_segment_kind kind;
	struct toml_value *node = NULL;
	size_t start = p->at;
	char c;
	int r;

	toml_lex_blanks(p);
	c = p->text[p->at];
	if (c == '\n' || c == '\r' || p->at >= p->len) {
		kind = TOML_SEGMENT_BLANK;
		r = end_line(p, "");
	} else if (c == '#') {
		kind = TOML_SEGMENT_COMMENT;
		r = end_line(p, "");
	} else if (c == '[') {
		kind = TOML_SEGMENT_HEADER;
		r = parse_header(p, &node);
		if (r == 0)
			r = end_line(p, "header");
		*table = node;
	} else {
		kind = TOML_SEGMENT_ENTRY;
		r = toml_parse_entry(p, *table, &node);
		if (r == 0)
			r = end_line(p, "value");
	}
	if (r < 0)
		return r;
	if (toml_add_segment(p->doc, kind, start, p->at, node) < 0)
		return err_oom(p->err);
	return 0;
}

static int parse_document(struct toml_parser *p)
{
	struct toml_value *table;
	int r;

	r = toml_lex_check(p);
	if (r < 0)
		return r;
	table = toml_value_new(p->doc, TOML_TABLE);
	if (!table)
		return err_oom(p->err);
	table->origin = TOML_FROM_HEADER;
	table->pos = (struct toml_pos){1, 1};
	p->doc->root = table;
	if (p->len >= 3 && memcmp(p->text, "\xef\xbb\xbf", 3) == 0) {
		p->at = 3;
		p->line_start = 3;
		if (toml_add_segment(p->doc, TOML_SEGMENT_BOM, 0, 3, NULL) < 0)
			return err_oom(p->err);
	}
	while (p->at < p->len) {
		r = parse_line(p, &table);
		if (r < 0)
			return r;
	}
	return 0;
}

int toml_parse(const char *text, size_t len, struct toml **ret_doc, struct toml_pos *ret_pos,
	       struct err *err)
{
	_cleanup_(toml_freep) struct toml *doc = NULL;
	struct toml_parser p;
	int r;

	if (len > TOML_SIZE_MAX)
		return err_set(err, ERR_CONFIG, -EFBIG, "larger than 1 GiB");
	r = toml_new(text, len, &doc);
	if (r < 0)
		return err_oom(err);
	toml_parser_init(&p, doc, ret_pos, err);
	r = parse_document(&p);
	if (r < 0)
		return r;
	*ret_doc = take_ptr(doc);
	return 0;
}
