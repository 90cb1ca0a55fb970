/* SPDX-License-Identifier: MIT */
/*
 * staged - the captured writes of a workspace, opened for a verb: where diff,
 * review, apply and discard begin.
 *
 *     staged_find()   whose workspace; an interrupted apply is brought to its end
 *     staged_open()   the stage
 *     staged_read()   what is in it
 *
 * The configuration is not read: what waits can be reviewed whatever became of
 * pale.toml. Cost follows what is staged, never the size of the workspace.
 */
#pragma once
#include <stddef.h>

#include "config/workspace.h"
#include "stage/apply.h"
#include "stage/changes.h"
#include "stage/stage.h"

struct err;

struct staged {
	struct user user;
	struct workspace workspace;
	const char *asked; /* --workspace; borrowed */
	struct recover_report recovered;
	struct stage *stage;     /* NULL: there is none */
	struct changes *changes; /* NULL as well, or not read */
	struct stage_run *runs;
	size_t n_runs;
};

/* ASKED: --workspace or NULL. */
int staged_find(const char *asked, struct staged *ret, struct err *err);
/* NAME: --stage, or NULL for the one that runs share, which need not be there. A
 * named one that is not there is an error. */
int staged_open(struct staged *staged, const char *name, struct err *err);
int staged_read(struct staged *staged, struct err *err);
void staged_release(struct staged *staged);
/* R, and if it is -EBUSY, since a session has STAGE in use: err says which, and how to end it. */
int staged_busy(const struct staged *staged, const char *stage, int r, struct err *err);

/* NULL: not known any more. */
const struct stage_run *staged_run(const struct staged *staged, const char *id);
/* Changes that a reader would count: files, and folders only by themselves. */
size_t staged_count(const struct changes *changes);
/* Does nothing else of CHANGES stand at or below the folder that change I is about? A
 * folder that came or went with its files needs no mention. */
bool change_stands_alone(const struct changes *changes, size_t i);
/* As a reader knows it: relative to the workspace, or absolute. NULL: no memory. */
char *staged_name(const struct staged *staged, unsigned root, const char *path);

/* What operands name, for struct apply_choice. */
struct staged_paths {
	struct apply_path *items;
	size_t n;
	struct strv texts; /* what items borrow */
};

void staged_paths_release(struct staged_paths *paths);
/* OPERAND: a file or folder, relative to where the caller is. An error when nothing is
 * staged at or below it. A folder around several roots adds each of them. */
int staged_paths_add(const struct staged *staged, const char *operand, struct staged_paths *paths,
		     struct err *err);
/* No paths: everything. */
bool staged_paths_cover(const struct staged_paths *paths, const struct change *change);
