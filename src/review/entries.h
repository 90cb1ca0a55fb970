/* SPDX-License-Identifier: MIT */
/*
 * entries - staged changes as a reader counts them: files, each with both of its
 * sides; a file that went and one that came may be one that moved.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diff.h"
#include "review/staged.h"
#include "stage/patch.h"

enum entry_kind {
	ENTRY_ADDED,
	ENTRY_CHANGED,
	ENTRY_DELETED,
	ENTRY_RENAMED,
	ENTRY_MODE,
	ENTRY_TYPE,
};

struct entry {
	enum entry_kind kind;
	const struct change *change;
	const struct change *from; /* of a rename: what went; else NULL */
	unsigned percent;          /* alike, of a rename */
	mode_t mode;               /* of what apply would write */
	uint64_t size;
	char *name;       /* see staged_name() */
	char *from_name;  /* of a rename; else as NAME */
	bool in_patch;    /* git's format can hold it */
	bool in_git;      /* in a .git folder: no patch for git names it */
	bool is_git_data; /* … and its own data: objects, refs, index; neither hook nor
				      configuration */
};

struct entries {
	struct entry *items;
	size_t n;
};

/* Of what PATHS (NULL: everything) cover. Files are read to find renames, if FIND_RENAMES. */
int entries_make(const struct staged *staged, const struct staged_paths *paths, bool find_renames,
		 struct entries *ret, struct err *err);
void entries_release(struct entries *entries);

/* More than that of a file is not read. */
#define ENTRY_MAX ((size_t)128 << 20)

/* An entry's content. Paths are relative to the workspace, or to "/" outside of it. */
struct sides {
	struct patch_side old, new;
	struct str old_data, new_data;
	char *old_path, *new_path;
	bool is_too_big; /* nothing was read */
	bool is_binary;  /* or too big */
};

/* The host's file, and what apply would write: of two changes that fit together, both. -ESTALE:
 * it has changed since; err is set. */
int sides_load(const struct staged *staged, const struct entry *entry, struct sides *ret,
	       struct err *err);
/* The host's file, and the staged one. */
int sides_load_staged(const struct staged *staged, const struct entry *entry, struct sides *ret,
		      struct err *err);
void sides_release(struct sides *sides);

/* The lines that differ, as patches number them. */
struct hunks {
	struct diff diff;
	struct diff_hunk *items;
	size_t n;
};

int hunks_make(const struct sides *sides, struct hunks *ret, struct err *err);
void hunks_release(struct hunks *hunks);

const char *entry_kind_name(enum entry_kind kind); /* "added", … */
char entry_letter(const struct entry *entry);      /* as git: A M D R T */
