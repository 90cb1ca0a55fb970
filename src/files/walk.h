/* SPDX-License-Identifier: MIT */
/*
 * walk - what is below a folder, in the order of its names.
 *
 * Each folder is opened from the one above it, without following a link, so that nothing
 * else than what is beneath the first one is ever seen. What .gitignore excludes is passed
 * over, and .git always.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct place_root;
struct target;

enum { WALK_DEPTH_MAX = 256 };

struct walk_entry {
	const char *path; /* relative to where the walk began */
	const char *name; /* its end */
	int dir;          /* the folder that it is in */
	unsigned depth;   /* 0: at the top */
	bool is_dir;
	unsigned char type; /* DT_*, never DT_UNKNOWN */
};

struct walk {
	bool no_ignore;
	/* Called for each; below 0 ends the walk. Of a folder, before what is in it: 0, not to
	 * enter it. */
	int (*entry)(void *data, const struct walk_entry *entry);
	void *data;
	size_t unread; /* folders that could not be opened */
};

/* FROM is a folder. 0, what entry() said, or -errno. */
int walk_run(struct walk *walk, const struct target *from);
