/* SPDX-License-Identifier: MIT */
/*
 * choose - which of the changes can be applied together, and why the others
 * cannot.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "stage/apply.h"

struct err;
struct stage;

struct verdict {
	bool is_asked; /* by the choice, or because something below is */
	bool is_taken;
	enum apply_outcome outcome; /* of what is taken: done, merged, dropped */
	const char *why;
	const struct apply_edits *edits; /* some of it only */
};

/* Of each change, in RET, which the caller frees. */
int choose(const struct stage *stage, const struct changes *changes, const struct changes *reviewed,
	   const struct apply_choice *choice, struct verdict **ret, struct err *err);
/* For discard: what is asked for is taken. */
int choose_discard(const struct changes *changes, const struct changes *reviewed,
		   const struct apply_choice *choice, struct verdict **ret, struct err *err);

int report_fill(struct apply_report *report, const struct changes *changes,
		const struct verdict *verdicts);
int report_add(struct apply_report *report, unsigned root, const char *path, enum change_kind kind,
	       enum apply_outcome outcome, unsigned flags, const char *why);
