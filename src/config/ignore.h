/* SPDX-License-Identifier: MIT */
/*
 * ignore - .paleignore: what a workspace hides from commands, in the syntax of
 * gitignore(5).
 *
 * Names are bytes. A line that git would read as a pattern which never matches
 * (an open bracket, "./name") is an error here: whoever wrote it meant to hide
 * something.
 *
 * Three steps: ignore_load(), ignore_collect(), ignore_collect_aliases(). They
 * walk by descriptor and follow no link.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/str.h"

struct err;
struct ignore_rule;

#define IGNORE_FILE      ".paleignore"
#define IGNORE_SIZE_MAX  ((size_t)1 << 20)
#define IGNORE_LINE_MAX  4096
#define IGNORE_RULES_MAX 4096 /* each is held against every name */
#define IGNORE_PATHS_MAX 4096 /* each becomes a mount */

struct ignore {
	struct ignore_rule *rules;
	size_t len, cap;
};

/* NAME stands in errors, with the line. */
int ignore_parse(const char *name, const char *text, size_t len, struct ignore *ret,
		 struct err *err);
/* For a .gitignore: lines that are no patterns are passed over, as git does. 0 or -ENOMEM. */
int ignore_parse_loosely(const char *text, size_t len, struct ignore *ret);
/* The file at the top of WORKSPACE: a regular one, of anybody's, since it only
 * hides. Returns 1, or 0 when there is none. */
int ignore_load(const char *workspace, struct ignore *ret, struct err *err);
void ignore_release(struct ignore *ignore);

/* Is PATH, relative to the workspace, hidden: itself, or a folder above it? */
bool ignore_hides(const struct ignore *ignore, const char *path, bool is_dir);
/* The same when no folder above it is; its last component begins at NAME. */
bool ignore_hides_entry(const struct ignore *ignore, const char *path, const char *name,
			bool is_dir);

/* The same, when there are further lists: what the last rule that matches says. 1: hidden,
 * -1: not hidden, 0: no rule matches. */
int ignore_judge_entry(const struct ignore *ignore, const char *path, const char *name,
		       bool is_dir);

/* A file with several names. */
struct ignore_shared {
	struct file_id id;
};

/* Paths are relative to the workspace. */
struct ignore_found {
	struct strv paths;   /* files, and folders as a whole */
	struct strv links;   /* symbolic links: nothing can be mounted on one */
	struct strv folders; /* of the paths; in the end, those that were looked into */
	struct ignore_shared *shared;
	size_t shared_len, shared_cap;
};

/* Add what IGNORE hides below the folder WORKSPACE. A folder that cannot be
 * listed or entered is hidden as a whole: nobody knows what is in it, and its
 * owner could open it inside. -E2BIG: more than IGNORE_PATHS_MAX. */
int ignore_collect(int workspace, const struct ignore *ignore, struct ignore_found *found,
		   struct err *err);
/* Add PATH, which something else hides; what is in it, if it is a folder, can
 * have names elsewhere. */
int ignore_collect_path(int workspace, const char *path, struct ignore_found *found,
			struct err *err);
/* ST is of a hidden file: does it have names elsewhere? 0 or -ENOMEM. */
int ignore_note_file(struct ignore_found *found, const struct stat *st);
/* Add the other names that hidden files have below WORKSPACE. Walks only if
 * there can be any, and into a hidden folder once, however often it was found. */
int ignore_collect_aliases(int workspace, struct ignore_found *found, struct err *err);
void ignore_found_release(struct ignore_found *found);
