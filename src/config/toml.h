/* SPDX-License-Identifier: MIT */
/*
 * toml - TOML 1.0.0, read into a tree and edited in place.
 *
 * A document is its text, cut into consecutive segments (a blank or comment
 * line, a table header, a key/value expression), and a tree of values that
 * know their bytes in it. Printing concatenates the segments, so comments,
 * order and formatting survive. An edit changes the text and parses it again:
 * tree and text cannot disagree.
 *
 * The tree is owned by the document and lives until it is edited or freed.
 * No value is nested in more than TOML_DEPTH_MAX keys and brackets, so that
 * consumers may recurse.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct str;
struct toml;
struct toml_value;

#define TOML_DEPTH_MAX 128
#define TOML_SIZE_MAX  (1u << 30)

enum toml_type {
	TOML_STRING,
	TOML_INTEGER,
	TOML_FLOAT,
	TOML_BOOL,
	TOML_DATETIME,       /* with an offset from UTC */
	TOML_DATETIME_LOCAL, /* date and time, no offset */
	TOML_DATE_LOCAL,
	TOML_TIME_LOCAL,
	TOML_ARRAY,
	TOML_TABLE,
};

/* Line and column count from 1; a column is a byte of the line. */
struct toml_pos {
	unsigned line;
	unsigned column;
};

/* Fields that a type lacks are 0. */
struct toml_time {
	unsigned short year;
	unsigned char month, day, hour, minute;
	unsigned char second;    /* 60 in a leap second */
	short offset;            /* minutes east of UTC */
	unsigned int nanosecond; /* further digits are dropped */
};

/* How a table or an array came to be: decides what may still be added. */
enum toml_origin {
	TOML_FROM_VALUE,    /* a value: inline table, array, scalar; complete */
	TOML_FROM_HEADER,   /* [table], an element of [[array]], the root */
	TOML_FROM_SUBTABLE, /* only named on the way to a header: [this.other] */
	TOML_FROM_DOTTED,   /* only named in a dotted key: this.other = 1 */
};

struct toml_entry {
	const char *key; /* decoded, NUL-terminated, may hold NUL bytes */
	size_t key_len;
	struct toml_pos pos;
	struct toml_value *value;
	struct toml_entry *next; /* in source order */
	/* private to config/toml*.c */
	size_t start; /* offset of the whole, perhaps dotted, key */
	size_t crit;
	struct toml_entry *child[2];
};

struct toml_value {
	enum toml_type type;
	enum toml_origin origin;
	struct toml_pos pos; /* of a table: its header or the first key that names it */
	unsigned section;    /* private */
	size_t start, end;   /* bytes in the text; both 0 unless TOML_FROM_VALUE */
	struct toml_value *parent;
	union {
		struct {
			const char *bytes; /* NUL-terminated, may hold NUL bytes */
			size_t len;
		} string;
		int64_t integer;
		double number;
		bool boolean;
		struct toml_time time;
		struct {
			struct toml_value **items;
			size_t len, cap;
		} array;
		struct {
			struct toml_entry *first, *last;
			struct toml_entry *index; /* private */
			size_t len;
		} table;
	};
};

/* Parse LEN bytes of TEXT, which are copied. A document that is not TOML is
 * -EINVAL: err (ERR_CONFIG) says what is wrong, *RET_POS (may be NULL) where.
 * -EFBIG: over TOML_SIZE_MAX. */
int toml_parse(const char *text, size_t len, struct toml **ret_doc, struct toml_pos *ret_pos,
	       struct err *err);
struct toml *toml_free(struct toml *doc); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct toml *, toml_free);

const struct toml_value *toml_root(const struct toml *doc);
/* The value of KEY (one key, not a path); NULL: absent, or TABLE is none. */
const struct toml_value *toml_get(const struct toml_value *table, const char *key);
const char *toml_type_name(enum toml_type type); /* "string", "table", … */

/* Append the document's text to OUT: 0 or -ENOMEM. */
int toml_print(const struct toml *doc, struct str *out);

/*
 * Edits. PATH is N keys from the root. On failure the document is unchanged;
 * on success every pointer into the old tree is dead.
 */

/* Give PATH the value VALUE_TEXT, which is TOML source of one value. The bytes
 * of an existing value are replaced and nothing else. A new key goes after the
 * last key of its table, in the table's own form (line, dotted key or inside
 * the braces); a new table goes to the end of the file.
 * -EINVAL: VALUE_TEXT is not a value. -EEXIST: PATH is a table that has lines
 * of its own. -ENOTDIR: PATH leads through something that is no table, or
 * through an array of tables, where it would not be clear which one. */
int toml_set(struct toml *doc, const char *const *path, size_t n, const char *value_text,
	     struct err *err);

/* Remove PATH: a key with its line, an entry of an inline table, or a table
 * with all sections of it and of its sub-tables, and the comment block that
 * belongs to each header. -ENOENT: it is not there. */
int toml_unset(struct toml *doc, const char *const *path, size_t n, struct err *err);

/* Append BYTES as a basic string; as a bare key where that is possible.
 * -EILSEQ: not UTF-8, which TOML cannot hold; OUT is unchanged. */
/* VALUE on one line, as it could be written in a file: the same value gives the
 * same text. Kinds that no key takes appear by their type's name. */
int toml_value_print(const struct toml_value *value, struct str *out);
int toml_quote(struct str *out, const char *bytes, size_t len);
int toml_key_quote(struct str *out, const char *bytes, size_t len);
