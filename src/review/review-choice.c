/* SPDX-License-Identifier: MIT */
/* review-choice - from decisions to what is applied, and what is discarded. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "review/review-impl.h"

/* Per change, whether it is chosen as a whole. */
struct chosen {
	const struct changes *changes;
	bool *flags;
};

static void choose(struct chosen *chosen, const struct change *change)
{
	chosen->flags[change - chosen->changes->items] = true;
}

static void choose_item(struct chosen *chosen, const struct review_item *item)
{
	for (size_t i = 0; i < item->n_entries; i++) {
		choose(chosen, item->entry[i].change);
		if (item->entry[i].from)
			choose(chosen, item->entry[i].from);
	}
}

/* A folder that came or went belongs to those below it: chosen when all of them are. */
static void choose_folders(struct chosen *chosen)
{
	const struct changes *changes = chosen->changes;

	for (size_t i = changes->n; i-- > 0;) {
		const struct change *at = &changes->items[i];
		bool all = !change_stands_alone(changes, i);

		for (size_t k = i + 1; all && k < changes->n; k++) {
			const struct change *below = &changes->items[k];

			if (below->root != at->root || !change_path_below(at->path, below->path))
				break;
			all = chosen->flags[k] || (below->flags & CHANGE_IS_SAME);
		}
		chosen->flags[i] = chosen->flags[i] || all;
	}
}

/* Paths with all that is below where that is meant, else by themselves. */
static int add_paths(const struct chosen *chosen, struct staged_choice *choice)
{
	const struct changes *changes = chosen->changes;
	int r = 0;

	for (size_t i = 0; i < changes->n && r == 0;) {
		const struct change *at = &changes->items[i];
		bool all = chosen->flags[i];
		size_t end = i + 1;

		for (; end < changes->n && changes->items[end].root == at->root &&
		       change_path_below(at->path, changes->items[end].path);
		     end++)
			all = all && chosen->flags[end];
		if (chosen->flags[i])
			r = staged_choice_add(at, !all, &choice->paths);
		i = all ? end : i + 1;
	}
	return r;
}

static int add_accepted(const struct review_item *item, struct chosen *chosen,
			struct staged_choice *choice)
{
	_cleanup_(freep) bool *edits = NULL;
	const struct change *change = item->entry->change;
	int r = 0;

	if (!item->verdicts || !memchr(item->verdicts, VERDICT_YES, item->n))
		return 0;
	/* Who says yes to a file that is marked has named it. */
	if (change->flags & CHANGE_IS_PROTECTED)
		r = staged_choice_add(change, true, &choice->include_protected);
	if (r == 0 && (change->flags & CHANGE_IS_CONFLICT) && !(change->flags & CHANGE_MERGES))
		r = staged_choice_add(change, true, &choice->take_staged);
	if (r < 0)
		return r;
	if (item_verdict(item) == VERDICT_YES) {
		choose_item(chosen, item);
		return 0;
	}
	edits = calloc(item->n + 1, sizeof(*edits));
	if (!edits)
		return -ENOMEM;
	for (size_t i = 0; i < item->n; i++)
		edits[i] = item->verdicts[i] == VERDICT_YES;
	return staged_choice_edits(change, edits, item->n, choice);
}

int review_accepted(const struct review *review, struct staged_choice *ret, struct err *err)
{
	const struct changes *changes = review->staged->changes;
	_cleanup_(freep) bool *flags = calloc(changes->n + 1, sizeof(*flags));
	struct chosen chosen = {changes, flags};
	int r = flags ? 0 : -ENOMEM;

	for (size_t i = 0; i < review->n && r == 0; i++)
		r = add_accepted(&review->items[i], &chosen, ret);
	if (r == 0) {
		choose_folders(&chosen);
		r = add_paths(&chosen, ret);
	}
	return r < 0 ? err_oom(err) : 0;
}

static bool was_left(const struct apply_report *done, const struct change *change)
{
	for (size_t i = 0; done && i < done->n; i++)
		if (done->items[i].root == change->root &&
		    str_eq(done->items[i].path, change->path) &&
		    done->items[i].outcome >= APPLY_PROTECTED)
			return true;
	return false;
}

int review_rejected(const struct review *review, const struct apply_report *done,
		    struct staged_choice *ret, struct err *err)
{
	const struct changes *changes = review->staged->changes;
	_cleanup_(freep) bool *flags = calloc(changes->n + 1, sizeof(*flags));
	struct chosen chosen = {changes, flags};
	int r = flags ? 0 : -ENOMEM;

	for (size_t i = 0; i < review->n && r == 0; i++) {
		const struct review_item *item = &review->items[i];

		if (!item->verdicts || !memchr(item->verdicts, VERDICT_NO, item->n) ||
		    memchr(item->verdicts, VERDICT_OPEN, item->n) ||
		    (memchr(item->verdicts, VERDICT_YES, item->n) &&
		     was_left(done, item->entry->change)))
			continue;
		choose_item(&chosen, item);
	}
	if (r == 0) {
		choose_folders(&chosen);
		r = add_paths(&chosen, ret);
	}
	return r < 0 ? err_oom(err) : 0;
}
