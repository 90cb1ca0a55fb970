/* SPDX-License-Identifier: MIT */
/*
 * staging - what the engine is given for the OP_STAGED operations of a plan.
 *
 * The plan says what is staged. Where the layers are, and whether another run has
 * them mounted already, is known only when the run begins.
 */
#pragma once
#include <stddef.h>
#include <time.h>

#include "base/path.h"

struct err;

enum { STAGING_MAX = 32 };

struct staging {
	struct timespec t0; /* no command is executed before the clock of files is past it */
	int lock;           /* the warden keeps a copy until it ends */
	/* One for each OP_STAGED, in their order. */
	struct staging_root {
		char *layers;      /* the folder that has "upper" and "work" */
		struct file_id id; /* of that */
		int joined;        /* a copy of the mount of another run; -1: to be mounted */
	} roots[STAGING_MAX];
	size_t len;
	int mount_lock; /* held by the child, too, until nobody can miss its mounts any more */
	/* In the supervisor, while the child builds its root: what can wait until then, and
	 * must be done before anything is executed. */
	int (*raised)(void *data, struct err *err);
	/* When all is mounted and nothing executed: FDS are the user and the mount namespace
	 * and then one for each root, to be owned. 1: the clock of files may not be past t0. */
	int (*mounted)(void *data, const int *fds, struct err *err);
	/* While the command starts: what nothing waits for. */
	void (*started)(void *data);
	void *data;
};
