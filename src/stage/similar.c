/* SPDX-License-Identifier: MIT */
/*
 * A file is summed up as a table: of each of its lines (or 64 bytes, when they are
 * longer) a hash, and how many bytes such lines have in all. What two tables have
 * in common is what was copied. Hashes may collide: the worst is a wrong number.
 */
#include "stage/similar.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define CHUNK_MAX 64
#define CHUNKS    ((size_t)1 << 20)             /* of a file; the rest does not count */
#define WORK_MAX  ((uint64_t)100 * 1000 * 1000) /* rows of tables to compare */
#define KEPT      4                             /* best candidates per made file */

struct row {
	uint32_t hash;
	uint32_t bytes;
};

struct table {
	struct row *rows; /* by hash */
	size_t len;
};

static void table_release(struct table *t)
{
	free(t->rows);
	*t = (struct table){0};
}

static uint64_t hash_bytes(const unsigned char *data, size_t len)
{
	uint64_t h = len + 1, word;

	for (; len >= sizeof(word); data += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, data, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15;
		h ^= h >> 29;
	}
	word = 0;
	if (len > 0)
		memcpy(&word, data, len);
	h = (h ^ word) * 0xd6e8feb86659fd93;
	return h ^ h >> 32;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

static size_t chunk_len(const unsigned char *data, size_t len)
{
	size_t most = len < CHUNK_MAX ? len : CHUNK_MAX;
	const unsigned char *newline = memchr(data, '\n', most);

	return newline ? (size_t)(newline - data) + 1 : most;
}

static int table_init(struct table *t, const unsigned char *data, size_t len)
{
	size_t chunks = 0, n = 0;

	for (size_t at = 0; at < len && chunks < CHUNKS; at += chunk_len(data + at, len - at))
		chunks++;
	*t = (struct table){.rows = malloc((chunks + 1) * sizeof(*t->rows))};
	if (!t->rows)
		return -ENOMEM;
	for (size_t at = 0; t->len < chunks; t->len++) {
		size_t bytes = chunk_len(data + at, len - at);

		t->rows[t->len] = (struct row){(uint32_t)hash_bytes(data + at, bytes),
					       (uint32_t)bytes};
		at += bytes;
	}
	qsort(t->rows, t->len, sizeof(*t->rows), compare_rows);
	for (size_t i = 0; i < t->len; i++) {
		if (n > 0 && t->rows[n - 1].hash == t->rows[i].hash)
			t->rows[n - 1].bytes += t->rows[i].bytes;
		else
			t->rows[n++] = t->rows[i];
	}
	t->len = n;
	return 0;
}

static unsigned table_percent(const struct table *a, size_t a_len, const struct table *b,
			      size_t b_len)
{
	uint64_t copied = 0, most = a_len > b_len ? a_len : b_len;
	unsigned percent;

	for (size_t i = 0, j = 0; i < a->len && j < b->len;) {
		const struct row *x = &a->rows[i], *y = &b->rows[j];

		if (x->hash == y->hash)
			copied += x->bytes < y->bytes ? x->bytes : y->bytes;
		i += x->hash <= y->hash;
		j += y->hash <= x->hash;
	}
	percent = most ? (unsigned)(copied * 100 / most) : 0;
	return percent < 99 ? percent : 99;
}

int similar_percent(const void *a, size_t a_len, const void *b, size_t b_len)
{
	_cleanup_(table_release) struct table x = {0}, y = {0};

	if (a_len == b_len && (a_len == 0 || memcmp(a, b, a_len) == 0))
		return 100;
	if (a_len == 0 || b_len == 0)
		return 0;
	if (table_init(&x, a, a_len) < 0 || table_init(&y, b, b_len) < 0)
		return -ENOMEM;
	return (int)table_percent(&x, a_len, &y, b_len);
}

/* A file that waits for its partner. */
struct item {
	const struct similar_file *file;
	const char *name; /* the last part of its path */
	uint64_t hash;
	struct table table;
	bool paired;
};

struct items {
	struct item *items;
	size_t len;
};

static void items_release(struct items *s)
{
	for (size_t i = 0; i < s->len; i++)
		table_release(&s->items[i].table);
	free(s->items);
}

static int items_init(struct items *s, const struct similar_file *files, size_t n)
{
	s->items = calloc(n + 1, sizeof(*s->items));
	if (!s->items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *slash = strrchr(files[i].path, '/');

		if (files[i].len == 0)
			continue;
		s->items[s->len++] = (struct item){
			.file = &files[i],
			.name = slash ? slash + 1 : files[i].path,
			.hash = hash_bytes(files[i].data, files[i].len),
		};
	}
	return 0;
}

static int compare_content(const struct item *x, const struct item *y)
{
	mode_t a = x->file->mode & S_IFMT, b = y->file->mode & S_IFMT;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->file->len != y->file->len)
		return x->file->len < y->file->len ? -1 : 1;
	return (a > b) - (a < b);
}

static int compare_named(const struct item *x, const struct item *y)
{
	int c = compare_content(x, y);

	return c ? c : strcmp(x->name, y->name);
}

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int c = compare_named(x, y);

	return c ? c : strcmp(x->file->path, y->file->path);
}

struct pairing {
	const struct similar_file *gone, *made;
	struct similar_pair *pairs;
	size_t len;
};

static void add_pair(struct pairing *p, struct item *gone, struct item *made, unsigned percent)
{
	gone->paired = made->paired = true;
	p->pairs[p->len++] = (struct similar_pair){
		.gone = (size_t)(gone->file - p->gone),
		.made = (size_t)(made->file - p->made),
		.percent = percent,
	};
}

/* Both are sorted; what COMPARE finds equal is paired in that order. */
static void pair_equal(struct pairing *p, struct items *gone, struct items *made,
		       int (*compare)(const struct item *, const struct item *))
{
	for (size_t i = 0, j = 0; i < gone->len && j < made->len;) {
		struct item *a = &gone->items[i], *b = &made->items[j];
		int c = compare(a, b);

		if (a->paired || b->paired) {
			i += a->paired;
			j += b->paired;
		} else if (c != 0) {
			i += c < 0;
			j += c > 0;
		} else {
			if (memcmp(a->file->data, b->file->data, a->file->len) == 0)
				add_pair(p, a, b, 100);
			i++;
			j++;
		}
	}
}

struct candidate {
	struct item *gone, *made;
	unsigned percent;
	bool same_name;
};

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int c;

	if (x->percent != y->percent)
		return x->percent > y->percent ? -1 : 1;
	if (x->same_name != y->same_name)
		return x->same_name ? -1 : 1;
	c = strcmp(x->made->file->path, y->made->file->path);
	return c ? c : strcmp(x->gone->file->path, y->gone->file->path);
}

/* Keep the best in BEST, of which there are *LEN. */
static void offer(struct candidate best[KEPT], size_t *len, struct candidate c)
{
	size_t at = *len;

	while (at > 0 && compare_candidates(&c, &best[at - 1]) < 0)
		at--;
	if (at == KEPT)
		return;
	*len += *len < KEPT;
	memmove(&best[at + 1], &best[at], (*len - at - 1) * sizeof(*best));
	best[at] = c;
}

static bool may_be_alike(const struct item *a, const struct item *b, unsigned enough)
{
	size_t x = a->file->len, y = b->file->len, most = x > y ? x : y;

	return !a->paired && (a->file->mode & S_IFMT) == (b->file->mode & S_IFMT) &&
	       (uint64_t)(x < y ? x : y) * 100 >= (uint64_t)most * enough;
}

static int need_table(struct item *item)
{
	return item->table.rows ? 0 : table_init(&item->table, item->file->data, item->file->len);
}

static int find_candidates(struct items *gone, struct item *made, unsigned enough, uint64_t *work,
			   struct candidate best[KEPT], size_t *len)
{
	for (size_t i = 0; i < gone->len && *work < WORK_MAX; i++) {
		struct item *a = &gone->items[i];
		unsigned percent;

		*work += 1;
		if (!may_be_alike(a, made, enough))
			continue;
		if (need_table(a) < 0 || need_table(made) < 0)
			return -ENOMEM;
		*work += a->table.len + made->table.len;
		percent = table_percent(&a->table, a->file->len, &made->table, made->file->len);
		if (percent >= enough)
			offer(best, len,
			      (struct candidate){a, made, percent, !strcmp(a->name, made->name)});
	}
	return 0;
}

static size_t count_single(const struct items *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->len; i++)
		n += !s->items[i].paired;
	return n;
}

static int pair_alike(struct pairing *p, struct items *gone, struct items *made, unsigned enough,
		      size_t limit)
{
	size_t n_gone = count_single(gone), n_made = count_single(made), len = 0;
	_cleanup_(freep) struct candidate *candidates = NULL;
	uint64_t work = 0;
	int r = 0;

	if (n_gone == 0 || n_made == 0 || n_gone > (uint64_t)limit * limit / n_made)
		return 0;
	candidates = calloc(n_made * KEPT, sizeof(*candidates));
	if (!candidates)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < made->len; i++) {
		size_t n = 0;

		if (made->items[i].paired)
			continue;
		r = find_candidates(gone, &made->items[i], enough, &work, candidates + len, &n);
		table_release(&made->items[i].table);
		len += n;
	}
	if (r < 0)
		return r;
	qsort(candidates, len, sizeof(*candidates), compare_candidates);
	for (size_t i = 0; i < len; i++)
		if (!candidates[i].gone->paired && !candidates[i].made->paired)
			add_pair(p, candidates[i].gone, candidates[i].made, candidates[i].percent);
	return 0;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct similar_pair *x = a, *y = b;

	return (x->made > y->made) - (x->made < y->made);
}

int similar_pairs(const struct similar_file *gone, size_t n_gone, const struct similar_file *made,
		  size_t n_made, unsigned enough, size_t limit, struct similar_pair **ret_pairs,
		  size_t *ret_len)
{
	_cleanup_(items_release) struct items g = {0}, m = {0};
	_cleanup_(freep) struct similar_pair *pairs = NULL;
	struct pairing p = {.gone = gone, .made = made};
	int r = items_init(&g, gone, n_gone);

	if (r == 0)
		r = items_init(&m, made, n_made);
	if (r < 0)
		return r;
	p.pairs = pairs = calloc((n_gone < n_made ? n_gone : n_made) + 1, sizeof(*pairs));
	if (!pairs)
		return -ENOMEM;
	qsort(g.items, g.len, sizeof(*g.items), compare_items);
	qsort(m.items, m.len, sizeof(*m.items), compare_items);
	pair_equal(&p, &g, &m, compare_named);
	pair_equal(&p, &g, &m, compare_content);
	r = pair_alike(&p, &g, &m, enough, limit);
	if (r < 0)
		return r;
	qsort(pairs, p.len, sizeof(*pairs), compare_pairs);
	*ret_len = p.len;
	*ret_pairs = p.len ? take_ptr(pairs) : NULL;
	return 0;
}
