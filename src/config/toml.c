/* SPDX-License-Identifier: MIT */
#include "config/toml.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "config/toml-impl.h"

/* One block holds the text and, for any ordinary file, the whole tree. */
int toml_new(const char *text, size_t len, struct toml **ret_doc)
{
	size_t room = len < 8192 ? 4096 + len * 24 : 200 * 1024;
	struct toml *doc = calloc(1, sizeof(*doc));
	struct toml_block *block = malloc(sizeof(*block) + room + len + 1);

	if (!doc || !block) {
		free(doc);
		free(block);
		return -ENOMEM;
	}
	block->next = NULL;
	if (len)
		memcpy(block->bytes + room, text, len);
	block->bytes[room + len] = '\0';
	doc->text = block->bytes + room;
	doc->len = len;
	doc->blocks = block;
	doc->free_start = block->bytes;
	doc->free_end = block->bytes + room;
	doc->block_size = 128 * 1024;
	*ret_doc = doc;
	return 0;
}

struct toml *toml_free(struct toml *doc)
{
	struct toml_block *next;

	if (!doc)
		return NULL;
	for (struct toml_block *block = doc->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	free(doc);
	return NULL;
}

void *toml_alloc(struct toml *doc, size_t size)
{
	struct toml_block *block;
	void *memory;

	size = (size + 7) & ~(size_t)7;
	if (size > (size_t)(doc->free_end - doc->free_start)) {
		size_t room = size > doc->block_size ? size : doc->block_size;

		block = malloc(sizeof(*block) + room);
		if (!block)
			return NULL;
		block->next = doc->blocks;
		doc->blocks = block;
		doc->free_start = block->bytes;
		doc->free_end = block->bytes + room;
		if (doc->block_size < 4u << 20)
			doc->block_size *= 2;
	}
	memory = doc->free_start;
	doc->free_start += size;
	return memory;
}

struct toml_value *toml_value_new(struct toml *doc, enum toml_type type)
{
	struct toml_value *value = toml_alloc(doc, sizeof(*value));

	if (!value)
		return NULL;
	memset(value, 0, sizeof(*value));
	value->type = type;
	return value;
}

/*
 * The keys of a table form a PATRICIA tree: an entry doubles as the branch
 * that was made when it came in, on bit `crit`, and a link that does not lead
 * to a higher bit is a leaf. No lookup takes more steps than its key has bits,
 * whatever the other keys are, so no file can make parsing quadratic.
 *
 * Bits count from 1. Each byte has nine, the first of which says that the key
 * reaches this far: keys may contain NUL and be prefixes of each other.
 */
static unsigned key_bit(const char *key, size_t len, size_t bit)
{
	size_t byte = (bit - 1) / 9;
	unsigned shift = (unsigned)((bit - 1) % 9);

	if (byte >= len)
		return 0;
	return shift == 0 ? 1 : (unsigned char)key[byte] >> (8 - shift) & 1;
}

/* The entry that shares the longest run of leading bits with KEY. */
static struct toml_entry *key_nearest(const struct toml_value *table, const char *key, size_t len)
{
	struct toml_entry *e = table->table.index;
	size_t bit = 0;

	while (e && e->crit > bit) {
		bit = e->crit;
		if ((bit - 1) / 9 > len)
			break;
		e = e->child[key_bit(key, len, bit)];
	}
	return e;
}

struct toml_entry *toml_find(const struct toml_value *table, const char *key, size_t len)
{
	struct toml_entry *e = key_nearest(table, key, len);

	return e && e->key_len == len && memcmp(e->key, key, len) == 0 ? e : NULL;
}

static size_t first_difference(const struct toml_entry *a, const struct toml_entry *b)
{
	size_t byte = 0;
	size_t bit;

	while (byte < a->key_len && byte < b->key_len && a->key[byte] == b->key[byte])
		byte++;
	bit = byte * 9 + 1;
	while (key_bit(a->key, a->key_len, bit) == key_bit(b->key, b->key_len, bit))
		bit++;
	return bit;
}

void toml_insert(struct toml_value *table, struct toml_entry *entry)
{
	struct toml_entry *near = key_nearest(table, entry->key, entry->key_len);
	struct toml_entry **link = &table->table.index;
	size_t bit = 0;
	unsigned side;

	entry->next = NULL;
	entry->crit = 0;
	if (near) {
		entry->crit = first_difference(near, entry);
		while ((*link)->crit > bit && (*link)->crit < entry->crit) {
			bit = (*link)->crit;
			link = &(*link)->child[key_bit(entry->key, entry->key_len, bit)];
		}
		side = key_bit(entry->key, entry->key_len, entry->crit);
		entry->child[side] = entry;
		entry->child[!side] = *link;
		table->table.last->next = entry;
	} else {
		table->table.first = entry;
	}
	*link = entry;
	table->table.last = entry;
	table->table.len++;
}

int toml_push(struct toml *doc, struct toml_value *array, struct toml_value *item)
{
	if (array->array.len == array->array.cap) {
		size_t cap = array->array.cap ? array->array.cap * 2 : 4;
		struct toml_value **items = toml_alloc(doc, cap * sizeof(struct toml_value *));

		if (!items)
			return -ENOMEM;
		if (array->array.len)
			memcpy(items, array->array.items,
			       array->array.len * sizeof(struct toml_value *));
		array->array.items = items;
		array->array.cap = cap;
	}
	array->array.items[array->array.len++] = item;
	item->parent = array;
	return 0;
}

int toml_add_segment(struct toml *doc, enum toml_segment_kind kind, size_t start, size_t end,
		     struct toml_value *node)
{
	if (doc->segments_len == doc->segments_cap) {
		size_t cap = doc->segments_cap ? doc->segments_cap * 2 : doc->len / 16 + 8;
		struct toml_segment *segments = toml_alloc(doc, cap * sizeof(*segments));

		if (!segments)
			return -ENOMEM;
		if (doc->segments_len)
			memcpy(segments, doc->segments, doc->segments_len * sizeof(*segments));
		doc->segments = segments;
		doc->segments_cap = cap;
	}
	doc->segments[doc->segments_len++] = (struct toml_segment){kind, start, end, node};
	return 0;
}

const struct toml_value *toml_root(const struct toml *doc)
{
	return doc->root;
}

const struct toml_value *toml_get(const struct toml_value *table, const char *key)
{
	struct toml_entry *entry;

	if (!table || table->type != TOML_TABLE)
		return NULL;
	entry = toml_find(table, key, strlen(key));
	return entry ? entry->value : NULL;
}

const char *toml_type_name(enum toml_type type)
{
	static const char *const names[] = {
		[TOML_STRING] = "string",         [TOML_INTEGER] = "integer",
		[TOML_FLOAT] = "float",           [TOML_BOOL] = "boolean",
		[TOML_DATETIME] = "date-time",    [TOML_DATETIME_LOCAL] = "local date-time",
		[TOML_DATE_LOCAL] = "local date", [TOML_TIME_LOCAL] = "local time",
		[TOML_ARRAY] = "array",           [TOML_TABLE] = "table",
	};

	return names[type];
}

int toml_print(const struct toml *doc, struct str *out)
{
	size_t len = out->len;
	int r;

	for (size_t i = 0; i < doc->segments_len; i++) {
		const struct toml_segment *segment = &doc->segments[i];

		r = str_append_bytes(out, doc->text + segment->start,
				     segment->end - segment->start);
		if (r < 0) {
			str_truncate(out, len);
			return r;
		}
	}
	return 0;
}
