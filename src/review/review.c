/* SPDX-License-Identifier: MIT */
#include "review/review.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "review/review-impl.h"

static void close_item(struct review *review)
{
	free(review->parts);
	hunks_release(&review->hunks);
	sides_release(&review->sides);
	review->parts = NULL;
	review->n_parts = 0;
}

void review_forget(struct review_item *item)
{
	free(item->verdicts);
	free(item->is_split);
	item->verdicts = NULL;
	item->is_split = NULL;
	item->n = item->n_hunks = 0;
	item->digest[0] = '\0';
}

void review_release(struct review *review)
{
	close_item(review);
	for (size_t i = 0; i < review->n; i++)
		review_forget(&review->items[i]);
	free(review->items);
	entries_release(&review->entries);
	*review = (struct review){0};
}

/* git's own files go to the end, so that they stand together. */
static int by_kind(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->is_git_data != y->is_git_data)
		return x->is_git_data - y->is_git_data;
	if (x->change->root != y->change->root)
		return x->change->root < y->change->root ? -1 : 1;
	return change_path_compare(x->change->path, y->change->path);
}

static int make_items(struct review *review, struct err *err)
{
	struct entries *entries = &review->entries;

	if (entries->n > 0)
		qsort(entries->items, entries->n, sizeof(*entries->items), by_kind);
	review->items = calloc(entries->n + 1, sizeof(*review->items));
	if (!review->items)
		return err_oom(err);
	for (size_t i = 0; i < entries->n; i++) {
		struct review_item *item = &review->items[review->n];

		item->entry = &entries->items[i];
		item->is_git_data = item->entry->is_git_data;
		item->n_entries = item->is_git_data ? entries->n - i : 1;
		review->n++;
		if (item->is_git_data)
			break;
	}
	return 0;
}

int review_open(const struct staged *staged, const struct staged_paths *paths, struct review *ret,
		struct err *err)
{
	struct review review = {.staged = staged};
	int r = entries_make(staged, paths, true, &review.entries, err);

	if (r == 0)
		r = make_items(&review, err);
	if (r == 0 && review.n > 0)
		r = review_restore(&review, err);
	if (r < 0) {
		review_release(&review);
		return r;
	}
	*ret = review;
	return 0;
}

/* --- one item --- */

static void digest_node(struct sha256 *h, const struct node *node)
{
	struct {
		uint64_t type, mode, size, ino;
		int64_t sec, nsec, changed_sec, changed_nsec;
	} facts = {node->type,         node->mode,         node->size,
		   node->ino,          node->mtime.tv_sec, node->mtime.tv_nsec,
		   node->ctime.tv_sec, node->ctime.tv_nsec};

	if (node->type == NODE_DIR) /* it changes when we look into a closed one */
		facts.changed_sec = facts.changed_nsec = 0;
	sha256_add(h, &facts, sizeof(facts));
}

/* What the reader sees: contents, or where there is none the facts. */
static void digest(const struct review *review, const struct review_item *item,
		   char ret[SHA256_HEX])
{
	const struct sides *sides = &review->sides;
	struct sha256 h;

	sha256_init(&h);
	for (size_t i = 0; i < item->n_entries; i++) {
		const struct change *change = item->entry[i].change;
		bool by_content = !item->is_git_data && !sides->is_too_big && item->entry->in_patch;

		sha256_add(&h, change->path, strlen(change->path) + 1);
		if (!by_content) {
			digest_node(&h, &change->old);
			digest_node(&h, &change->new);
			continue;
		}
		if (item->entry->from)
			sha256_add(&h, item->entry->from->path,
				   strlen(item->entry->from->path) + 1);
		/* All bits of the mode, not only those that a patch has. */
		sha256_add(&h, &change->old.mode, sizeof(change->old.mode));
		sha256_add(&h, &change->new.mode, sizeof(change->new.mode));
		sha256_add(&h, &sides->old.mode, sizeof(sides->old.mode));
		sha256_add(&h, &sides->new.mode, sizeof(sides->new.mode));
		sha256_add(&h, &change->flags, sizeof(change->flags));
		sha256_add(&h, &sides->old.len, sizeof(sides->old.len));
		sha256_add(&h, sides->old.data, sides->old.len);
		sha256_add(&h, sides->new.data, sides->new.len);
	}
	sha256_end_hex(&h, ret);
}

/* Does it come and go as a whole? */
static bool is_whole(const struct review *review, const struct review_item *item)
{
	return item->is_git_data || item->entry->kind != ENTRY_CHANGED || review->hunks.n == 0 ||
	       (item->entry->change->flags & CHANGE_IS_CONFLICT);
}

int review_fit(struct review *review, struct review_item *item, struct err *err)
{
	size_t n = is_whole(review, item) ? 1 : review->hunks.diff.len;
	char seen[SHA256_HEX];

	digest(review, item, seen);
	if (item->verdicts && item->n == n && item->n_hunks == review->hunks.n &&
	    str_eq(item->digest, seen))
		return 0;
	review_forget(item);
	item->verdicts = malloc(n + 1);
	item->is_split = calloc(review->hunks.n + 1, sizeof(*item->is_split));
	if (!item->verdicts || !item->is_split)
		return err_oom(err);
	memset(item->verdicts, VERDICT_OPEN, n);
	item->verdicts[n] = '\0';
	item->n = n;
	item->n_hunks = review->hunks.n;
	memcpy(item->digest, seen, sizeof(seen));
	return 0;
}

static int add_parts(struct review *review, const struct diff_hunk *hunks, size_t n)
{
	struct diff_hunk *parts = reallocarray(review->parts, review->n_parts + n, sizeof(*parts));

	if (!parts)
		return -ENOMEM;
	review->parts = parts;
	memcpy(parts + review->n_parts, hunks, n * sizeof(*hunks));
	review->n_parts += n;
	return 0;
}

static int make_parts(struct review *review, const struct review_item *item, struct err *err)
{
	int r = 0;

	free(review->parts);
	review->parts = NULL;
	review->n_parts = 0;
	if (is_whole(review, item)) {
		review->n_parts = 1;
		return 0;
	}
	for (size_t i = 0; i < review->hunks.n && r == 0; i++) {
		_cleanup_(freep) struct diff_hunk *split = NULL;
		size_t n = 0;

		if (!item->is_split[i]) {
			r = add_parts(review, &review->hunks.items[i], 1);
			continue;
		}
		r = diff_hunk_split(&review->hunks.diff, &review->hunks.items[i], DIFF_CONTEXT,
				    &split, &n);
		if (r == 0)
			r = add_parts(review, split, n);
	}
	return r < 0 ? err_oom(err) : 0;
}

int review_go(struct review *review, size_t at, size_t part, struct err *err)
{
	struct review_item *item = &review->items[at];
	int r = 0;

	if (at != review->at || review->n_parts == 0) {
		close_item(review);
		if (!item->is_git_data && item->entry->in_patch)
			r = sides_load(review->staged, item->entry, &review->sides, err);
		if (r == 0)
			r = hunks_make(&review->sides, &review->hunks, err);
		if (r == 0)
			r = review_fit(review, item, err);
	}
	review->at = at;
	if (r == 0)
		r = make_parts(review, item, err);
	if (r < 0) {
		close_item(review);
		return r;
	}
	review->part = part < review->n_parts ? part : review->n_parts - 1;
	return 0;
}

int review_move(struct review *review, int direction, struct err *err)
{
	int r;

	if (direction > 0 && review->part + 1 < review->n_parts) {
		review->part++;
		return 1;
	}
	if (direction < 0 && review->part > 0) {
		review->part--;
		return 1;
	}
	if (direction > 0 ? review->at + 1 >= review->n : review->at == 0)
		return 0;
	r = review_go(review, direction > 0 ? review->at + 1 : review->at - 1,
		      direction > 0 ? 0 : (size_t)-1, err);
	return r < 0 ? r : 1;
}

int review_next_open(struct review *review, struct err *err)
{
	size_t start = review->at;

	for (size_t i = review->part; i < review->n_parts; i++) {
		review->part = i;
		if (review_verdict(review) == VERDICT_OPEN)
			return 1;
	}
	/* The last step comes back to the item's own beginning. */
	for (size_t step = 1; step <= review->n; step++) {
		size_t at = (start + step) % review->n;
		const struct review_item *item = &review->items[at];
		int r;

		if (item->verdicts && !memchr(item->verdicts, VERDICT_OPEN, item->n))
			continue;
		r = review_go(review, at, 0, err);
		if (r < 0)
			return r;
		for (review->part = 0; review->part < review->n_parts; review->part++)
			if (review_verdict(review) == VERDICT_OPEN)
				return 1;
		review->part = 0;
	}
	return 0;
}

/* --- verdicts --- */

static enum verdict sum_up(const char *verdicts, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (verdicts[i] != verdicts[0])
			return VERDICT_MIXED;
	return n > 0 ? (enum verdict)verdicts[0] : VERDICT_OPEN;
}

enum verdict item_verdict(const struct review_item *item)
{
	return item->verdicts ? sum_up(item->verdicts, item->n) : VERDICT_OPEN;
}

enum verdict review_verdict(const struct review *review)
{
	const struct review_item *item = &review->items[review->at];
	const struct diff_hunk *part = review->parts ? &review->parts[review->part] : NULL;

	return part ? sum_up(item->verdicts + part->first_edit, part->edits) : item_verdict(item);
}

void review_decide(struct review *review, enum verdict verdict)
{
	struct review_item *item = &review->items[review->at];
	const struct diff_hunk *part = review->parts ? &review->parts[review->part] : NULL;

	if (part)
		memset(item->verdicts + part->first_edit, (int)verdict, part->edits);
	else
		memset(item->verdicts, (int)verdict, item->n);
}

void review_decide_all(struct review *review, enum verdict verdict)
{
	struct review_item *item = &review->items[review->at];

	memset(item->verdicts, (int)verdict, item->n);
}

bool review_can_split(const struct review *review)
{
	return review->parts && review->parts[review->part].edits > 1;
}

int review_split(struct review *review, struct err *err)
{
	struct review_item *item = &review->items[review->at];
	size_t edit = review->parts[review->part].first_edit;

	for (size_t i = 0; i < review->hunks.n; i++)
		if (review->hunks.items[i].first_edit <= edit &&
		    edit < review->hunks.items[i].first_edit + review->hunks.items[i].edits)
			item->is_split[i] = true;
	return make_parts(review, item, err);
}

void review_count(const struct review *review, struct review_tally *ret)
{
	*ret = (struct review_tally){0};
	for (size_t i = 0; i < review->n; i++) {
		const struct review_item *item = &review->items[i];

		if (!item->verdicts) {
			ret->open++;
			continue;
		}
		ret->yes += memchr(item->verdicts, VERDICT_YES, item->n) != NULL;
		ret->no += memchr(item->verdicts, VERDICT_NO, item->n) != NULL;
		ret->open += memchr(item->verdicts, VERDICT_OPEN, item->n) != NULL;
	}
}
