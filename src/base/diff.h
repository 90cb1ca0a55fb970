/* SPDX-License-Identifier: MIT */
/*
 * diff - which lines of two texts differ.
 *
 *     struct diff d;
 *     r = diff_compute(old, old_len, new, new_len, DIFF_NATURAL, &d);
 *     r = diff_hunks(&d, DIFF_CONTEXT, &hunks, &n);
 *     …
 *     diff_release(&d);
 *
 * A line ends with its '\n'; a last line without one differs from the same text
 * with one. All line numbers count from 0. The result depends on the bytes alone
 * (the work is bounded by counting, not by a clock), so the Nth hunk is the Nth
 * hunk again for whoever asks later. The buffers stay the caller's and must
 * outlive the diff.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIFF_CONTEXT 3

struct diff_lines {
	const char *data;
	size_t *starts; /* count + 1 offsets, the last is the length */
	size_t count;
};

/* Between two edits, before the first and after the last all lines are equal.
 * At least one line is between two edits; one of the counts may be 0. */
struct diff_edit {
	size_t old_line, old_count;
	size_t new_line, new_count;
};

struct diff {
	struct diff_lines old, new;
	struct diff_edit *edits;
	size_t len;
};

enum diff_style {
	DIFF_PLAIN,   /* ambiguous edits as far down as they go: what merges are made of */
	DIFF_NATURAL, /* moved to where a reader expects them: blank lines, indentation */
};

/* A few edits and the equal lines around them, edits[first_edit … +edits - 1]. */
struct diff_hunk {
	size_t old_start, old_count;
	size_t new_start, new_count;
	size_t first_edit, edits;
};

int diff_lines_split(const void *data, size_t len, struct diff_lines *ret_lines);
void diff_lines_release(struct diff_lines *lines);

static inline const char *diff_line(const struct diff_lines *lines, size_t i)
{
	return lines->data + lines->starts[i];
}

/* The bytes of COUNT lines from I on. */
static inline size_t diff_span(const struct diff_lines *lines, size_t i, size_t count)
{
	return lines->starts[i + count] - lines->starts[i];
}

/* -ENOMEM; -EFBIG: more lines than 2^30. */
int diff_compute(const void *old, size_t old_len, const void *new, size_t new_len,
		 enum diff_style style, struct diff *ret_diff);
void diff_release(struct diff *d);
void diff_count(const struct diff *d, size_t *ret_removed, size_t *ret_added); /* lines */

/* Group the edits with CONTEXT lines around them; edits whose context touches or
 * overlaps share a hunk. The caller frees *RET_HUNKS; no edits, no hunks (NULL). */
int diff_hunks(const struct diff *d, size_t context, struct diff_hunk **ret_hunks, size_t *ret_len);

/* One hunk per edit of HUNK. Unlike those of diff_hunks() their context overlaps:
 * they are to be shown and chosen, not printed as one patch. */
int diff_hunk_split(const struct diff *d, const struct diff_hunk *hunk, size_t context,
		    struct diff_hunk **ret_hunks, size_t *ret_len);

bool diff_is_binary(const void *data, size_t len); /* a NUL early on, as git judges */
