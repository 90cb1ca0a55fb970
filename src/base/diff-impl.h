/* SPDX-License-Identifier: MIT */
/* diff-impl - what the parts of diff share. */
#pragma once
#include "base/diff.h"

struct diff_side {
	const struct diff_lines *lines;
	uint32_t *classes; /* per line; equal lines of both sides have equal ones */
	bool *flags;       /* owns changed */
	bool *changed;     /* per line; [-1] and [count] can be read and stay false */
};

/* Mark as changed what a shortest edit script deletes and inserts, or a short one
 * where the shortest would cost too much. Classes are below N_CLASSES. */
int diff_search(struct diff_side *old, struct diff_side *new, size_t n_classes);

/* Move each run of changed lines of SIDE to its best place, join what meets. */
void diff_slide(struct diff_side *side, const struct diff_side *other, enum diff_style style);
