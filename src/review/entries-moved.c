/* SPDX-License-Identifier: MIT */
/*
 * entries-moved - which file was renamed to which.
 *
 * Contents are read only of files for which the other side has one of a similar
 * size, and only up to a bound in all: past it a rename is shown as a deletion and
 * an addition, which is true as well.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "review/entries-impl.h"
#include "stage/similar.h"

#define FILE_MAX  ((size_t)16 << 20)
#define TOTAL_MAX ((size_t)256 << 20)

struct side {
	size_t *entries; /* indices, by size of the file */
	struct similar_file *files;
	struct str *data;
	size_t n;
};

static void side_release(struct side *side)
{
	for (size_t i = 0; side->data && i < side->n; i++)
		str_release(&side->data[i]);
	free(side->entries);
	free(side->files);
	free(side->data);
}

static const struct node *node_of(const struct entry *entry)
{
	return entry->kind == ENTRY_DELETED ? &entry->change->old : &entry->change->new;
}

/* What is marked, and goes, is shown by itself: a rename has the marks of what was made. */
static bool may_be_renamed(const struct entry *entry)
{
	const unsigned marks = CHANGE_IS_PROTECTED | CHANGE_IS_CONFLICT;

	return entry->in_patch && !entry->is_git_data &&
	       !(entry->kind == ENTRY_DELETED && entry->change->flags & marks);
}

static int side_init(struct side *side, const struct entries *entries, enum entry_kind kind)
{
	side->entries = calloc(entries->n + 1, sizeof(*side->entries));
	side->files = calloc(entries->n + 1, sizeof(*side->files));
	side->data = calloc(entries->n + 1, sizeof(*side->data));
	if (!side->entries || !side->files || !side->data)
		return -ENOMEM;
	for (size_t i = 0; i < entries->n; i++) {
		const struct entry *entry = &entries->items[i];
		const struct node *node = node_of(entry);

		if (entry->kind == kind && may_be_renamed(entry) && node_is_patchable(node) &&
		    node->size > 0 && node->size <= FILE_MAX)
			side->entries[side->n++] = i;
	}
	return 0;
}

static int compare_sizes(const void *a, const void *b, void *data)
{
	const struct entries *entries = data;
	uint64_t x = node_of(&entries->items[*(const size_t *)a])->size;
	uint64_t y = node_of(&entries->items[*(const size_t *)b])->size;

	return x < y ? -1 : x > y;
}

/* Keep of SIDE what has one in OTHER between half and twice its size. */
static void keep_near(struct side *side, const struct side *other, const struct entries *entries)
{
	size_t n = 0, low = 0;

	for (size_t i = 0; i < side->n; i++) {
		uint64_t size = node_of(&entries->items[side->entries[i]])->size;

		while (low < other->n &&
		       node_of(&entries->items[other->entries[low]])->size * 2 < size)
			low++;
		if (low < other->n &&
		    node_of(&entries->items[other->entries[low]])->size <= size * 2)
			side->entries[n++] = side->entries[i];
	}
	side->n = n;
}

static int compare_indices(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

/* What cannot be read any more, or is past the bound, is like nothing. */
static int side_load(struct side *side, const struct staged *staged, const struct entries *entries,
		     size_t *room)
{
	qsort(side->entries, side->n, sizeof(*side->entries), compare_indices);
	for (size_t i = 0; i < side->n; i++) {
		const struct entry *entry = &entries->items[side->entries[i]];
		const struct node *node = node_of(entry);
		int r = -EFBIG;

		if (node->size <= *room)
			r = entry->kind == ENTRY_DELETED
				    ? change_read_old(staged->stage, entry->change, FILE_MAX,
						      &side->data[i], NULL)
				    : change_read_new(staged->stage, entry->change, FILE_MAX,
						      &side->data[i], NULL);
		if (r == -ENOMEM)
			return r;
		side->files[i] = (struct similar_file){
			.path = entry->change->path,
			.mode = node->type == NODE_LINK ? PATCH_MODE_LINK : PATCH_MODE_FILE,
			.data = side->data[i].data,
			.len = r < 0 ? 0 : side->data[i].len,
		};
		*room -= side->files[i].len < *room ? side->files[i].len : *room;
	}
	return 0;
}

static int join(struct entries *entries, size_t gone, size_t made, unsigned percent)
{
	struct entry *from = &entries->items[gone], *to = &entries->items[made];

	if (from->change->root != to->change->root || from->in_git != to->in_git)
		return 0;
	free(to->from_name);
	to->from_name = take_ptr(from->name);
	to->from = from->change;
	to->kind = ENTRY_RENAMED;
	to->percent = percent;
	return 1;
}

static int pair(struct entries *entries, const struct side *gone, const struct side *made,
		bool *is_joined)
{
	_cleanup_(freep) struct similar_pair *pairs = NULL;
	size_t n = 0;
	int r = similar_pairs(gone->files, gone->n, made->files, made->n, SIMILAR_ENOUGH,
			      SIMILAR_LIMIT, &pairs, &n);

	for (size_t i = 0; i < n && r == 0; i++) {
		size_t from = gone->entries[pairs[i].gone];

		if (join(entries, from, made->entries[pairs[i].made], pairs[i].percent))
			is_joined[from] = true;
	}
	return r;
}

int entries_find_renames(const struct staged *staged, struct entries *entries, struct err *err)
{
	_cleanup_(side_release) struct side gone = {0};
	_cleanup_(side_release) struct side made = {0};
	_cleanup_(freep) bool *is_joined = NULL;
	size_t room = TOTAL_MAX;
	int r = side_init(&gone, entries, ENTRY_DELETED);

	if (r == 0)
		r = side_init(&made, entries, ENTRY_ADDED);
	if (r < 0)
		return err_oom(err);
	if (gone.n == 0 || made.n == 0)
		return 0;
	qsort_r(gone.entries, gone.n, sizeof(*gone.entries), compare_sizes, entries);
	qsort_r(made.entries, made.n, sizeof(*made.entries), compare_sizes, entries);
	keep_near(&gone, &made, entries);
	keep_near(&made, &gone, entries);
	is_joined = calloc(entries->n, sizeof(*is_joined));
	if (!is_joined)
		return err_oom(err);
	r = side_load(&gone, staged, entries, &room);
	if (r == 0)
		r = side_load(&made, staged, entries, &room);
	if (r == 0)
		r = pair(entries, &gone, &made, is_joined);
	if (r < 0)
		return err_oom(err);
	entries_drop(entries, is_joined);
	return 0;
}
