/* SPDX-License-Identifier: MIT */
/* workspace - which folder a run is about. */
#pragma once
#include "config/user.h"

struct err;

struct workspace {
	char *root;      /* absolute, symlink-free */
	char *cwd;       /* the caller's, absolute; root when that lies outside */
	char *state_dir; /* <user's state_dir>/<basename>-<32 hex>; NULL when unknown */
};

/* From ASKED (--workspace) or by walking up from the cwd: the first folder
 * with a pale.toml or a .git, else the cwd itself. Where it lies below another one with rules
 * (a pale.toml, or a .git and a .paleignore) that one is taken, unless pale remembers the inner
 * one: it was asked for by name once. Never a folder
 * that holds the user's home, a system directory or /tmp as a whole: those are
 * refused with a hint, and passed over when merely a .git was found there, or a
 * pale.toml of someone else (anybody can put one into /tmp). */
int workspace_find(const char *asked, const struct user *user, struct workspace *ret,
		   struct err *err);
void workspace_release(struct workspace *workspace);
/* The same by names alone, without a look at whether it could be one: a new string, or NULL.
 * For who asks for what somebody made there after a real look. */
char *workspace_guess(const char *asked);
/* BASE/<basename>-<32 hex of the path's SHA-256>: a new string, or NULL. */
char *state_name(const char *base, const char *path);
