/* SPDX-License-Identifier: MIT */
/*
 * changes - what the command did, read from the upper layer.
 *
 * The cost follows the upper layer, and what it deletes. It was written by the
 * command: nothing in it is followed, opened as anything but a regular file, or
 * believed. Whiteouts and opaque folders count as the kernel counts them;
 * redirects and the like, which our mounts do not use, count for nothing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "stage/node.h"

struct err;
struct stage;

enum change_kind {
	CHANGE_ADD,
	CHANGE_MODIFY, /* content or target; perhaps the mode as well */
	CHANGE_DELETE,
	CHANGE_MODE, /* only mode, times or attributes; see CHANGE_IS_SAME */
	CHANGE_TYPE, /* another kind of file */
};

enum change_flags {
	CHANGE_IS_PROTECTED = 1 << 0,   /* left out by apply unless named */
	CHANGE_RUNS_LATER = 1 << 1,     /* something on the host will execute it */
	CHANGE_IS_CONFLICT = 1 << 2,    /* the host's side changed, too */
	CHANGE_MERGES = 1 << 3,         /* … and both fit together: apply takes the merge */
	CHANGE_IS_UNSUPPORTED = 1 << 4, /* can only be discarded: device, socket, too deep */
	CHANGE_IS_STRIPPED = 1 << 5,    /* applied without set-id bits or privileged attributes */
	CHANGE_IS_SAME = 1 << 6,        /* only times or attributes differ: no patch shows it */
	CHANGE_DROPS = 1 << 7, /* … and the host made it so by itself: nothing to apply */
};

struct change {
	unsigned root;
	char *path; /* relative to the root, bytes; "" is the root itself */
	enum change_kind kind;
	struct node old, new; /* the base's now, and the staged one */
	mode_t merged_mode;   /* with CHANGE_MERGES: of what apply writes */
	size_t merged_size;
	bool is_opaque; /* a folder that hides what the base has in it */
	unsigned flags;
	const char *why;  /* of the flags; borrowed, never NULL: "" */
	const char *run;  /* that changed it last; borrowed; NULL: not known */
	char *moved_from; /* NULL here: whoever looks for renames fills it in; owned */
};

/* Sorted by root and path, parents before children. The deletion of a folder is
 * followed by that of everything below. */
struct changes {
	struct change *items;
	size_t n, cap;
	struct strv names; /* what `run` borrows */
};

int changes_read(struct stage *stage, struct changes **ret, struct err *err);
struct changes *changes_free(struct changes *changes);
DEFINE_CLEANUP(struct changes *, changes_free);
/* A folder that comes with what is in it, and is no more than that: nobody need be asked about it. */
bool change_is_new_folder(const struct change *change);
/* NULL: there is none at that path. */
const struct change *changes_find(const struct changes *changes, unsigned root, const char *path);
/* A slash before every other byte: what is below a path follows it. */
int change_path_compare(const char *a, const char *b);
/* Is PATH equal to PREFIX or below it? "" is above everything. */
bool change_path_below(const char *prefix, const char *path);

/* A regular file's content for reading. -EINVAL: it is none; -ESTALE: it is another
 * file by now than the one in CHANGE. */
int change_open_old(const struct stage *stage, const struct change *change, int *ret_fd,
		    struct err *err);
int change_open_new(const struct stage *stage, const struct change *change, int *ret_fd,
		    struct err *err);
/* The same, read: at most MAX bytes (-EFBIG). Of a link: where it leads to. */
int change_read_old(const struct stage *stage, const struct change *change, size_t max,
		    struct str *ret, struct err *err);
int change_read_new(const struct stage *stage, const struct change *change, size_t max,
		    struct str *ret, struct err *err);
/* What the base was when the command took it, for a three-way view. 1: there was none.
 * -ENOENT: no copy was kept; err untouched. */
int change_read_base(const struct stage *stage, const struct change *change, struct str *ret,
		     struct err *err);
