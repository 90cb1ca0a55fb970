/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/diff.h"

#define BINARY_LOOK 8000

bool diff_is_binary(const void *data, size_t len)
{
	return len > 0 && memchr(data, '\0', len < BINARY_LOOK ? len : BINARY_LOOK) != NULL;
}

void diff_count(const struct diff *d, size_t *ret_removed, size_t *ret_added)
{
	size_t removed = 0, added = 0;

	for (size_t i = 0; i < d->len; i++) {
		removed += d->edits[i].old_count;
		added += d->edits[i].new_count;
	}
	*ret_removed = removed;
	*ret_added = added;
}

/* EDITS edits from FIRST on, with at most CONTEXT equal lines around them. */
static struct diff_hunk make_hunk(const struct diff *d, size_t first, size_t edits, size_t context)
{
	const struct diff_edit *begin = &d->edits[first], *last = &d->edits[first + edits - 1];
	size_t old_end = last->old_line + last->old_count;
	size_t new_end = last->new_line + last->new_count;
	size_t before = begin->old_line, after = d->old.count - old_end;

	if (first > 0)
		before -= begin[-1].old_line + begin[-1].old_count;
	if (first + edits < d->len)
		after = last[1].old_line - old_end;
	before = before < context ? before : context;
	after = after < context ? after : context;
	return (struct diff_hunk){
		.old_start = begin->old_line - before,
		.new_start = begin->new_line - before,
		.old_count = old_end + after - (begin->old_line - before),
		.new_count = new_end + after - (begin->new_line - before),
		.first_edit = first,
		.edits = edits,
	};
}

/* How many edits from I on belong together. */
static size_t hunk_edits(const struct diff *d, size_t i, size_t context)
{
	size_t n = 1;

	for (; i + n < d->len; n++) {
		const struct diff_edit *a = &d->edits[i + n - 1], *b = a + 1;
		size_t gap = b->old_line - (a->old_line + a->old_count);

		if (gap / 2 > context || (gap / 2 == context && gap % 2 == 1))
			break;
	}
	return n;
}

int diff_hunks(const struct diff *d, size_t context, struct diff_hunk **ret_hunks, size_t *ret_len)
{
	struct diff_hunk *hunks = NULL;
	size_t len = 0;

	for (size_t i = 0; i < d->len; i += hunk_edits(d, i, context))
		len++;
	if (len > 0) {
		hunks = calloc(len, sizeof(*hunks));
		if (!hunks)
			return -ENOMEM;
	}
	for (size_t i = 0, n = 0; i < d->len; n++) {
		size_t edits = hunk_edits(d, i, context);

		hunks[n] = make_hunk(d, i, edits, context);
		i += edits;
	}
	*ret_hunks = hunks;
	*ret_len = len;
	return 0;
}

int diff_hunk_split(const struct diff *d, const struct diff_hunk *hunk, size_t context,
		    struct diff_hunk **ret_hunks, size_t *ret_len)
{
	struct diff_hunk *hunks = calloc(hunk->edits, sizeof(*hunks));

	if (!hunks)
		return -ENOMEM;
	for (size_t i = 0; i < hunk->edits; i++)
		hunks[i] = make_hunk(d, hunk->first_edit + i, 1, context);
	*ret_hunks = hunks;
	*ret_len = hunk->edits;
	return 0;
}
