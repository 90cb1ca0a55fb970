/* SPDX-License-Identifier: MIT */
/*
 * apply - the staged changes, or some of them, become the host's; or are thrown
 * away; or, either of them, taken back.
 *
 * Each call is atomic as a whole: it happens, or nothing does, also across kill -9
 * and power loss at any step: stage_recover() ends what was begun. Nothing outside
 * of the stage's folders is ever written, whatever is renamed or linked in them
 * meanwhile. What is applied or discarded leaves the stage, and the rest of it looks
 * to later runs as it did before.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "stage/changes.h"

struct err;
struct stage;

struct apply_path {
	unsigned root;
	const char *path; /* and everything below; "" is all of the root */
	bool is_alone;    /* not what is below */
};

/* Some of the edits of a text file. The others stay staged. */
struct apply_edits {
	unsigned root;
	const char *path;
	const bool *chosen; /* per edit of diff_compute(old, new, DIFF_NATURAL) */
	size_t n;
};

/* All pointers are borrowed; everything zero: all that is neither protected nor a
 * conflict. */
struct apply_choice {
	const struct apply_path *paths; /* none: all */
	size_t n_paths;
	const struct apply_edits *edits; /* not for discard */
	size_t n_edits;
	const struct apply_path *include_protected;
	size_t n_include_protected;
	const struct apply_path *take_staged; /* in a conflict, the staged side wins */
	size_t n_take_staged;
	bool accept_unsynced; /* a stage that a crash of the machine may have cut */
};

enum apply_outcome {
	APPLY_DONE,
	APPLY_MERGED,      /* with what the host had changed */
	APPLY_DROPPED,     /* the host has the same already: gone from the stage */
	APPLY_PROTECTED,   /* left staged: not named */
	APPLY_CONFLICT,    /* left staged */
	APPLY_UNSUPPORTED, /* left staged */
	APPLY_CHANGED,     /* left: it is not what was reviewed, or what was applied, any more */
	APPLY_HELD, /* left staged: something above or below it was left, or git holds a lock */
};

struct apply_item {
	unsigned root;
	char *path;
	enum change_kind kind;
	enum apply_outcome outcome;
	unsigned flags;  /* of the change */
	const char *why; /* static; "" */
};

struct apply_report {
	char id[32]; /* for undo; "": there was nothing to do */
	struct apply_item *items;
	size_t n, cap;
	size_t n_done; /* done, merged, dropped */
	size_t n_left; /* conflicts, changed, held: status 1. Not protected, unsupported */
};

struct apply_report *apply_report_free(struct apply_report *report);
DEFINE_CLEANUP(struct apply_report *, apply_report_free);

/* DONE of TOTAL so far; a negative answer ends the work, and takes all of it back. Not
 * asked any more once it is decided. */
typedef int apply_progress_fn(void *data, size_t done, size_t total, const char *path);

struct apply_progress {
	apply_progress_fn *fn; /* NULL: none */
	void *data;
};

/* Tell PROGRESS, which may be NULL. */
int apply_step(const struct apply_progress *progress, size_t done, size_t total, const char *path,
	       struct err *err);

/* Takes the stage's exclusive lock. REVIEWED (may be NULL) is what the user saw: what
 * is different now is left (APPLY_CHANGED). Who held the lock already when REVIEWED was
 * read spares a second reading. An error: nothing has changed. */
int stage_apply(struct stage *stage, const struct changes *reviewed,
		const struct apply_choice *choice, const struct apply_progress *progress,
		struct apply_report **ret, struct err *err);
/* From the stage alone; the host's side stays as it is. With REVIEWED, what is staged must be
 * what the user saw; what it was compared with may have changed. */
int stage_discard(struct stage *stage, const struct changes *reviewed,
		  const struct apply_choice *choice, const struct apply_progress *progress,
		  struct apply_report **ret, struct err *err);
/* Take back the apply or discard ID of the workspace, or the last one that was not
 * taken back (NULL): the host's files are what they were, and what was applied or
 * discarded is staged again, unless something newer is staged in its place. -ENOENT:
 * there is none. */
int stage_undo(const char *state_dir, const char *id, const struct apply_progress *progress,
	       struct apply_report **ret, struct err *err);

struct apply_entry {
	char id[32];
	char stage[65];
	bool is_discard, is_undone;
	size_t n_items;
};
/* Newest first. The caller frees *RET. */
int applies_list(const char *state_dir, struct apply_entry **ret, size_t *ret_n, struct err *err);

enum recover_outcome {
	RECOVER_NOTHING,
	RECOVER_FINISHED,   /* an interrupted one was carried to its end */
	RECOVER_TAKEN_BACK, /* or undone as if it had never begun */
	RECOVER_BUSY,       /* one is under way in another process */
};

struct recover_report {
	enum recover_outcome outcome;
	char what[16]; /* "apply", "discard", "undo" */
	char id[32];
};

/* Before every verb and run; one openat() when there is nothing to do. */
int stage_recover(const char *state_dir, struct recover_report *ret, struct err *err);
