/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "config/toml-impl.h"

void toml_parser_init(struct toml_parser *p, struct toml *doc, struct toml_pos *ret_pos,
		      struct err *err)
{
	p->doc = doc;
	p->text = doc->text;
	p->len = doc->len;
	p->at = 0;
	p->line = 1;
	p->line_start = 0;
	p->section = 0;
	p->depth = 0;
	p->ret_pos = ret_pos;
	p->err = err;
	p->keys_len = 0;
}

/* All blank space that an array allows. */
static void skip_lines(struct toml_parser *p)
{
	do {
		toml_lex_blanks(p);
		toml_lex_comment(p);
	} while (toml_lex_newline(p));
}

static int parse_array(struct toml_parser *p, struct toml_value *array)
{
	size_t start = p->at;
	int r;

	p->at++;
	for (;;) {
		struct toml_value *item;

		skip_lines(p);
		if (p->text[p->at] == ']')
			break;
		if (p->at >= p->len)
			return toml_fail(p, start, "the array is not closed");
		item = toml_value_new(p->doc, TOML_STRING);
		if (!item || toml_push(p->doc, array, item) < 0)
			return err_oom(p->err);
		r = toml_parse_value(p, item);
		if (r < 0)
			return r;
		skip_lines(p);
		if (p->text[p->at] == ']')
			break;
		if (p->at >= p->len)
			return toml_fail(p, start, "the array is not closed");
		if (p->text[p->at] != ',')
			return toml_fail(p, p->at, "expected ',' or ']' in the array");
		p->at++;
	}
	p->at++;
	return 0;
}

static int parse_inline_table(struct toml_parser *p, struct toml_value *table)
{
	size_t start = p->at;
	struct toml_value *value;
	int r;

	p->at++;
	toml_lex_blanks(p);
	if (p->text[p->at] == '}') {
		p->at++;
		return 0;
	}
	for (;;) {
		char c;

		if (p->text[p->at] == '}')
			return toml_fail(p, p->at, "an inline table has no comma before its '}'");
		if (p->text[p->at] == '\n' || p->text[p->at] == '\r' || p->at >= p->len)
			return toml_fail(p, start, "the inline table is not closed on its line");
		r = toml_parse_entry(p, table, &value);
		if (r < 0)
			return r;
		toml_lex_blanks(p);
		c = p->text[p->at];
		if (c == '\n' || c == '\r' || p->at >= p->len)
			return toml_fail(p, start, "the inline table is not closed on its line");
		if (c != ',' && c != '}')
			return toml_fail(p, p->at, "expected ',' or '}' in the inline table");
		p->at++;
		if (c == '}')
			return 0;
		toml_lex_blanks(p);
	}
}

static int parse_nested(struct toml_parser *p, struct toml_value *value)
{
	int r;

	if (p->depth >= TOML_DEPTH_MAX)
		return toml_fail(p, p->at, "nested more than %d levels deep", TOML_DEPTH_MAX);
	p->depth++;
	value->type = p->text[p->at] == '[' ? TOML_ARRAY : TOML_TABLE;
	r = value->type == TOML_ARRAY ? parse_array(p, value) : parse_inline_table(p, value);
	p->depth--;
	return r;
}

int toml_parse_value(struct toml_parser *p, struct toml_value *value)
{
	char c = p->text[p->at];
	int r;

	value->pos = toml_pos_at(p, p->at);
	value->origin = TOML_FROM_VALUE;
	value->start = p->at;
	if (c == '"' || c == '\'') {
		value->type = TOML_STRING;
		r = toml_lex_string(p, &value->string.bytes, &value->string.len);
	} else if (c == '[' || c == '{') {
		r = parse_nested(p, value);
	} else {
		r = toml_lex_plain(p, value);
	}
	value->end = p->at;
	return r;
}

struct toml_entry *toml_entry_new(struct toml_parser *p, struct toml_value *table,
				  const struct toml_key *key, enum toml_type type,
				  enum toml_origin origin)
{
	struct toml_entry *entry = toml_alloc(p->doc, sizeof(*entry));
	struct toml_value *value = toml_value_new(p->doc, type);

	if (!entry || !value)
		return NULL;
	entry->key = key->bytes;
	entry->key_len = key->len;
	entry->start = key->start;
	entry->pos = toml_pos_at(p, key->start);
	entry->value = value;
	value->origin = origin;
	value->pos = entry->pos;
	value->section = p->section;
	value->parent = table;
	toml_insert(table, entry);
	return entry;
}

/* The table that all but the last of p->keys lead to. It may be one that an
 * earlier line of the same section named in the same way, or one that so far
 * exists only as the parent of another; no other table can be added to. */
static int enter_dotted(struct toml_parser *p, struct toml_value **table)
{
	for (size_t i = 0; i + 1 < p->keys_len; i++) {
		const struct toml_key *key = &p->keys[i];
		struct toml_entry *entry = toml_find(*table, key->bytes, key->len);
		struct toml_value *value;
		int name_len = (int)(key->end - p->keys[0].start);
		const char *name = p->text + p->keys[0].start;

		if (!entry) {
			entry = toml_entry_new(p, *table, key, TOML_TABLE, TOML_FROM_DOTTED);
			if (!entry)
				return err_oom(p->err);
		}
		value = entry->value;
		if (value->type != TOML_TABLE)
			return toml_fail(
				p, key->start,
				"key '%.*s' is already defined on line %u and is not a table",
				name_len, name, entry->pos.line);
		if (value->origin == TOML_FROM_SUBTABLE) {
			value->origin = TOML_FROM_DOTTED;
			value->section = p->section;
			value->pos = toml_pos_at(p, key->start);
		}
		if (value->origin != TOML_FROM_DOTTED || value->section != p->section)
			return toml_fail(p, key->start,
					 "table '%.*s' is already defined on line %u and cannot be "
					 "added to here",
					 name_len, name, value->pos.line);
		*table = value;
	}
	return 0;
}

int toml_parse_entry(struct toml_parser *p, struct toml_value *table, struct toml_value **ret_value)
{
	unsigned depth = p->depth;
	const struct toml_key *key;
	struct toml_entry *entry;
	size_t start;
	int r;

	r = toml_lex_keys(p);
	if (r < 0)
		return r;
	start = p->keys[0].start;
	key = &p->keys[p->keys_len - 1];
	if (p->text[p->at] != '=')
		return toml_fail(p, p->at, "expected '=' after the key '%.*s'",
				 (int)(key->end - start), p->text + start);
	p->at++;
	if (depth + p->keys_len - 1 > TOML_DEPTH_MAX)
		return toml_fail(p, start, "nested more than %d levels deep", TOML_DEPTH_MAX);
	r = enter_dotted(p, &table);
	if (r < 0)
		return r;
	entry = toml_find(table, key->bytes, key->len);
	if (entry)
		return toml_fail(p, start, "key '%.*s' is already defined on line %u",
				 (int)(key->end - start), p->text + start, entry->pos.line);
	entry = toml_entry_new(p, table, key, TOML_STRING, TOML_FROM_VALUE);
	if (!entry)
		return err_oom(p->err);
	entry->start = start;
	toml_lex_blanks(p);
	p->depth += (unsigned)p->keys_len - 1;
	r = toml_parse_value(p, entry->value);
	p->depth = depth;
	if (r < 0)
		return r;
	*ret_value = entry->value;
	return 0;
}

int toml_check_value(const char *text, size_t len, struct err *err)
{
	_cleanup_(toml_freep) struct toml *doc = NULL;
	struct toml_parser p;
	struct toml_value *value;
	int r;

	if (len > TOML_SIZE_MAX)
		return err_set(err, ERR_CONFIG, -EFBIG, "the value is too long");
	r = toml_new(text, len, &doc);
	if (r < 0)
		return err_oom(err);
	toml_parser_init(&p, doc, NULL, err);
	r = toml_lex_check(&p);
	if (r < 0)
		return r;
	value = toml_value_new(doc, TOML_STRING);
	if (!value)
		return err_oom(err);
	r = toml_parse_value(&p, value);
	if (r < 0)
		return r;
	if (p.at < p.len)
		return toml_fail(&p, p.at, "unexpected text after the value");
	return 0;
}
