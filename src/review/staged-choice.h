/* SPDX-License-Identifier: MIT */
/*
 * staged-choice - which of the staged changes are meant: paths, and hunks of files.
 *
 *     struct staged_choice choice = {0};
 *     r = staged_paths_add(&staged, "src", &choice.paths, err);
 *     r = staged_choice_hunk(&staged, "README.md:2", &choice, err);
 *     stage_apply(…, staged_choice_finish(&choice), …);
 */
#pragma once
#include "review/staged.h"
#include "stage/apply.h"

struct staged_choice {
	struct staged_paths paths;
	struct staged_paths include_protected;
	struct staged_paths take_staged;
	struct staged_picks {
		struct apply_edits *items; /* their bitmaps are owned */
		size_t n;
	} picks;
	bool accept_unsynced;
	struct apply_choice choice; /* what the others amount to */
};

void staged_choice_release(struct staged_choice *choice);
/* FILE:N, the Nth hunk of FILE as `pale diff FILE` has it. */
int staged_choice_hunk(const struct staged *staged, const char *text, struct staged_choice *choice,
		       struct err *err);
/* EDITS (N of them) of the file that CHANGE is about. Copied. -ENOMEM. */
int staged_choice_edits(const struct change *change, const bool *edits, size_t n,
			struct staged_choice *choice);
/* CHANGE as a whole, with everything below it unless ALONE. -ENOMEM. */
int staged_choice_add(const struct change *change, bool alone, struct staged_paths *paths);
/* Borrows from CHOICE. */
const struct apply_choice *staged_choice_finish(struct staged_choice *choice);
