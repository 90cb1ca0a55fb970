/* SPDX-License-Identifier: MIT */
/*
 * protected - names in a workspace that programs of the host act on: policy,
 * shells, editors, agents and git read or execute them there.
 *
 * Where a command may write, those that exist become read-only, and the engine
 * watches for the others (engine/guard.h). The list is what a look at the host
 * found: names at the root of the workspace, and in the directories that git
 * really uses for it. Everything on the way there is in it as well: a link that
 * leads to one is itself a name to watch.
 */
#pragma once
#include <stddef.h>

#include "base/path.h"
#include "base/str.h"
#include "policy/protected-names.h"

struct err;
struct protection;

enum protected_type {
	PROTECTED_ABSENT,
	PROTECTED_FILE,
	PROTECTED_DIR,
	PROTECTED_LINK,   /* cannot be mounted over: watched */
	PROTECTED_PARENT, /* a folder that holds such names and stays writable */
};

struct protected_path {
	const char *dir; /* the host's, without links: one of protection.dirs */
	const char *name;
	enum protected_type type;
	struct file_id id; /* unless absent */
	const char *link;  /* what a link says */
	char *text;        /* holds name and link; NULL: the name is a constant */
};

struct protection {
	struct protected_path *items;
	size_t len, cap;
	struct strv dirs;    /* each once */
	struct strv mirrors; /* other names that mounts give existing ones */
	struct strv sources; /* configurations of git that were read, or were not there */
	/* The repository of a linked worktree, when it names this workspace as
	 * one: git inside needs it. Else NULL. */
	char *git_common;
	struct file_id git_common_id;
};

/* HOME (may be NULL) is what "~/" means in a git configuration. An error: git
 * uses something here that we cannot follow. */
int protection_probe(const char *workspace, const char *home, struct protection *ret,
		     struct err *err);
void protection_release(struct protection *protection);
/* Strings are copied. */
int protection_add(struct protection *protection, const char *dir, const char *name,
		   enum protected_type type, struct file_id id, const char *link);
