/* SPDX-License-Identifier: MIT */
/*
 * toml-impl - what the files of the TOML module share.
 *
 *   toml.c        the document: arena, tables, segments, printing
 *   toml-lex.c    bytes, blanks, comments, keys, strings
 *   toml-number.c numbers and date-times
 *   toml-value.c  values, arrays, inline tables, dotted keys
 *   toml-parse.c  lines and headers
 *   toml-edit.c   set, and what the two edits share
 *   toml-unset.c  unset
 *   toml-quote.c  strings and keys as TOML source
 */
#pragma once
#include "base/err.h"
#include "config/toml.h"

enum toml_segment_kind {
	TOML_SEGMENT_BOM,
	TOML_SEGMENT_BLANK,   /* with its newline, like all that follow */
	TOML_SEGMENT_COMMENT, /* a line with nothing else */
	TOML_SEGMENT_HEADER,
	TOML_SEGMENT_ENTRY, /* a key/value expression, perhaps of several lines */
};

struct toml_segment {
	enum toml_segment_kind kind;
	size_t start, end;
	struct toml_value *node; /* the header's table, the entry's value */
};

struct toml_block {
	struct toml_block *next;
	char bytes[];
};

struct toml {
	const char *text; /* in the first block; NUL-terminated */
	size_t len;
	struct toml_value *root;
	struct toml_segment *segments;
	size_t segments_len, segments_cap;
	struct toml_block *blocks;
	char *free_start, *free_end;
	size_t block_size; /* of the next block */
};

/* toml.c */
int toml_new(const char *text, size_t len, struct toml **ret_doc);
void *toml_alloc(struct toml *doc, size_t size); /* 8-aligned, not zeroed; NULL: no memory */
struct toml_value *toml_value_new(struct toml *doc, enum toml_type type);
struct toml_entry *toml_find(const struct toml_value *table, const char *key, size_t len);
void toml_insert(struct toml_value *table, struct toml_entry *entry); /* the key must be new */
int toml_push(struct toml *doc, struct toml_value *array, struct toml_value *item);
int toml_add_segment(struct toml *doc, enum toml_segment_kind kind, size_t start, size_t end,
		     struct toml_value *node);

struct toml_key {
	const char *bytes; /* decoded, in the arena */
	size_t len;
	size_t start, end; /* in the text */
};

struct toml_parser {
	struct toml *doc;
	const char *text; /* text[len] is NUL: one byte may always be looked at */
	size_t len;
	size_t at;
	unsigned line;
	size_t line_start;
	unsigned section; /* number of headers so far */
	unsigned depth;   /* of the table or array that is being filled */
	struct toml_pos *ret_pos;
	struct err *err;
	struct toml_key keys[TOML_DEPTH_MAX]; /* of the last toml_lex_keys() */
	size_t keys_len;
};

static inline struct toml_pos toml_pos_at(const struct toml_parser *p, size_t at)
{
	return (struct toml_pos){p->line, (unsigned)(at - p->line_start) + 1};
}

/* toml-lex.c; all return 0 or -errno with err and ret_pos set */
int toml_fail(struct toml_parser *p, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int toml_lex_check(struct toml_parser *p);       /* UTF-8, control characters, line ends */
size_t toml_utf8_len(const char *s, size_t len); /* of the first character; 0: not UTF-8 */
void toml_lex_blanks(struct toml_parser *p);
bool toml_lex_newline(struct toml_parser *p); /* false: there is none here */
void toml_lex_comment(struct toml_parser *p); /* if there is one */
int toml_lex_keys(struct toml_parser *p);     /* a dotted key, to p->keys */
int toml_lex_string(struct toml_parser *p, const char **ret_bytes, size_t *ret_len);
bool toml_is_bare(char c);

/* toml-number.c: booleans, numbers and date-times */
int toml_lex_plain(struct toml_parser *p, struct toml_value *value);

/* toml-value.c */
int toml_parse_value(struct toml_parser *p, struct toml_value *value);
/* One `key = value` below TABLE, at p->at. */
int toml_parse_entry(struct toml_parser *p, struct toml_value *table,
		     struct toml_value **ret_value);
struct toml_entry *toml_entry_new(struct toml_parser *p, struct toml_value *table,
				  const struct toml_key *key, enum toml_type type,
				  enum toml_origin origin);
/* Is TEXT one value and nothing else? */
int toml_check_value(const char *text, size_t len, struct err *err);
void toml_parser_init(struct toml_parser *p, struct toml *doc, struct toml_pos *ret_pos,
		      struct err *err);

/* toml-edit.c */
struct str;
struct toml_place {
	const struct toml_value *table; /* the deepest table of the path that exists */
	size_t depth;                   /* number of keys that lead to it */
	const struct toml_value
		*base; /* the deepest one that is not FROM_DOTTED: it owns the bytes */
	size_t base_depth;
	const struct toml_entry *entry; /* the whole path, when it exists */
};

int toml_locate(const struct toml *doc, const char *const *path, size_t n,
		struct toml_place *ret_place, struct err *err);
int toml_replace_text(struct toml *doc, const struct str *text, struct err *err);
bool toml_is_below(const struct toml_value *value, const struct toml_value *ancestor);
/* err: "'x.y' WHAT". */
int toml_edit_fail(struct err *err, int r, const char *const *path, size_t n, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* toml-quote.c */
int toml_path_quote(struct str *out, const char *const *path, size_t n); /* as a dotted key */
