/* SPDX-License-Identifier: MIT */
/*
 * edit - a pale.toml, the workspace's or the user's own, changed under a lock.
 *
 * The lock is on the folder itself, so that it leaves no file behind
 * and works before there is a pale.toml. It is taken before the file is read
 * and held until the new one is in place: of two edits at once none is lost.
 */
#pragma once
#include "api/context.h"
#include "base/str.h"

#define WORKSPACE_CONFIG "pale.toml"

struct edit {
	struct context context; /* loaded under the lock, if at all */
	enum layer layer;       /* whose file it is */
	char *real;             /* the user's own, wherever links lead; else NULL */
	const char *name;       /* what it is called in its folder */
	int dirfd;              /* the folder that it is in */
	struct toml *doc;       /* empty when there was no file, or it was not read */
	bool existed, was_read;
	struct str before; /* the file as it was read */
};

/* RELOAD false: the files may be broken, and are not read. */
int edit_begin(const char *asked, bool reload, struct edit *ret, struct err *err);
/* The user's own file, with what is loaded for the workspace. MAKE: its folder is made,
 * if need be; else there is nothing to commit to. */
int edit_begin_user(const char *asked, bool make, struct edit *ret, struct err *err);
const char *edit_file(const struct edit *edit); /* its path */
/* Start over from TEXT. */
int edit_restart(struct edit *edit, const char *text, size_t len, struct err *err);
/* Set commands.NAME.KEY to VALUE, TOML source; NULL removes it. */
int edit_command(struct edit *edit, const char *name, const char *key, const char *value,
		 struct err *err);
bool edit_has_command(const struct edit *edit, const char *name);
/* Check the document as a file of its layer. */
int edit_check(const struct edit *edit, struct err *err);
/* Check it, and replace the file. -ESTALE: that is not as it was read any more, for editors
 * know nothing of the lock. */
int edit_commit(const struct edit *edit, struct err *err);
void edit_release(struct edit *edit);
