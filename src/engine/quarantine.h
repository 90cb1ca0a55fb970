/* SPDX-License-Identifier: MIT */
/*
 * quarantine - take something out of a workspace for good, and keep it.
 *
 * It goes to a folder in the user's state, which no command can see; that is made
 * when the first thing comes. Everything is named by the folder's descriptor and
 * one name in it, and no link is followed.
 */
#pragma once
#include <stdint.h>

struct err;

struct quarantine {
	const char *path; /* NULL: there is no such place */
	int fd;           /* -1 until something is in it */
	unsigned count;
	uint64_t renamed_ns; /* when the last one lost its name */
};

void quarantine_init(struct quarantine *q, const char *path);
void quarantine_release(struct quarantine *q);

/* Take NAME out of the folder DIR, whose name is DIR_PATH. 0 and where it is now;
 * -ENOENT: it is not there; else err says why it could not be taken away. Then it
 * was given a name beside the old one that nobody acts on, *ret_where, or, that being
 * NULL, was removed, or is still where it was: err says which. */
int quarantine_take(struct quarantine *q, int dir, const char *dir_path, const char *name,
		    char **ret_where, struct err *err);
