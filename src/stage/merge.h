/* SPDX-License-Identifier: MIT */
/*
 * merge - two changed versions of one text, made one.
 *
 * Changes of both sides that overlap or touch are a conflict, unless they are the
 * same. Texts only: ask diff_is_binary() first.
 */
#pragma once
#include <stddef.h>

#include "base/diff.h"

struct str;

struct merge_text {
	const void *data;
	size_t len;
};

enum merge_kind {
	MERGE_OURS,     /* only our side changed this */
	MERGE_THEIRS,   /* only theirs */
	MERGE_SAME,     /* both, and alike */
	MERGE_CONFLICT, /* both, and differently */
};

/* Lines from 0 in each of the texts. What is between regions nobody changed. */
struct merge_region {
	enum merge_kind kind;
	size_t base_line, base_count;
	size_t ours_line, ours_count;
	size_t theirs_line, theirs_count;
};

struct merge {
	struct diff ours, theirs; /* base to each side */
	struct merge_region *regions;
	size_t len;
	size_t conflicts;
};

/* What stands behind the markers; NULL: nothing. */
struct merge_names {
	const char *ours, *base, *theirs;
};

/* The three texts stay the caller's and must outlive the merge. -ENOMEM, -EFBIG. */
int merge_compute(struct merge_text base, struct merge_text ours, struct merge_text theirs,
		  struct merge *ret_merge);
void merge_release(struct merge *m);

/* Append the merged text. Conflicts are written between <<<<<<<, |||||||, =======
 * and >>>>>>>, or with NAMES NULL are -EBUSY, and nothing is appended. */
int merge_write(const struct merge *m, const struct merge_names *names, struct str *out);
