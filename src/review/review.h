/* SPDX-License-Identifier: MIT */
/*
 * review - decisions about staged changes, one by one: what was decided, where one
 * is, kept in the stage until the next time.
 *
 * An item is a file, or all of git's own files at once: a part of those is a broken
 * repository. A changed text file is decided by its hunks, everything else as a
 * whole. What is kept holds for exactly what was seen: another content, and the
 * question is open again.
 *
 * Pure but for reading the stage; the screen is the command line's.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"
#include "review/entries.h"
#include "review/staged-choice.h"

enum verdict { VERDICT_OPEN = '.', VERDICT_YES = 'y', VERDICT_NO = 'n', VERDICT_MIXED = '*' };

struct review_item {
	const struct entry *entry; /* the first one, of git's own */
	size_t n_entries;          /* from there on; 1 but for git's own */
	bool is_git_data;
	char *verdicts; /* enum verdict: per edit, or one; NULL: never looked at */
	size_t n;       /* of them */
	bool *is_split; /* per hunk */
	size_t n_hunks;
	char digest[SHA256_HEX]; /* of what was seen; "": nothing was */
};

struct review {
	const struct staged *staged;
	struct entries entries;
	struct review_item *items;
	size_t n;
	size_t at, part; /* where one is */

	/* The item at AT, read. */
	struct sides sides;
	struct hunks hunks;
	struct diff_hunk *parts; /* what is decided by itself; NULL: the whole is */
	size_t n_parts;          /* at least 1 */
};

/* What PATHS cover, with the decisions of the last time. STAGED must outlive it. */
int review_open(const struct staged *staged, const struct staged_paths *paths, struct review *ret,
		struct err *err);
void review_release(struct review *review);
/* Keep decisions and place for the next time. */
int review_save(const struct review *review, struct err *err);

/* Go to PART (clamped) of item AT and read it. -ESTALE: it has changed since. */
int review_go(struct review *review, size_t at, size_t part, struct err *err);
/* To the next or previous part; 0: there is none. */
int review_move(struct review *review, int direction, struct err *err);
/* To the next open part, from here on and then from the beginning; 0: there is none. */
int review_next_open(struct review *review, struct err *err);

enum verdict review_verdict(const struct review *review);            /* of this part */
enum verdict item_verdict(const struct review_item *item);           /* of all of it */
void review_decide(struct review *review, enum verdict verdict);     /* this part */
void review_decide_all(struct review *review, enum verdict verdict); /* this item */
bool review_can_split(const struct review *review);
int review_split(struct review *review, struct err *err);

struct review_tally {
	size_t yes, no, open; /* items; mixed ones count for each that is in them */
};
void review_count(const struct review *review, struct review_tally *ret);
/* What was accepted, to be applied in one step. */
int review_accepted(const struct review *review, struct staged_choice *ret, struct err *err);
/* What was rejected, and can be discarded after DONE (the apply; may be NULL): items in
 * which nothing is open, and nothing accepted was left. */
int review_rejected(const struct review *review, const struct apply_report *done,
		    struct staged_choice *ret, struct err *err);
