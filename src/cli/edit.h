/* SPDX-License-Identifier: MIT */
/*
 * edit - the workspace's pale.toml, changed under a lock.
 *
 * The lock is on the workspace folder itself, so that it leaves no file behind
 * and works before there is a pale.toml. It is taken before the file is read
 * and held until the new one is in place: of two edits at once none is lost.
 */
#pragma once
#include "api/context.h"

#define WORKSPACE_CONFIG "pale.toml"

struct edit {
	struct context context; /* loaded under the lock, if at all */
	int dirfd;              /* the workspace */
	struct toml *doc;       /* empty when there was no file, or it was not read */
	bool existed;
};

/* RELOAD false: the files may be broken, and are not read. */
int edit_begin(const char *asked, bool reload, struct edit *ret, struct err *err);
/* Start over from TEXT. */
int edit_restart(struct edit *edit, const char *text, size_t len, struct err *err);
/* Set commands.NAME.KEY to VALUE, TOML source; NULL removes it. */
int edit_command(struct edit *edit, const char *name, const char *key, const char *value,
		 struct err *err);
bool edit_has_command(const struct edit *edit, const char *name);
/* Check the document as a workspace file. */
int edit_check(const struct edit *edit, struct err *err);
/* Check it, and replace the file. */
int edit_commit(const struct edit *edit, struct err *err);
void edit_release(struct edit *edit);
