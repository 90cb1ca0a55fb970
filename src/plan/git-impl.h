/* SPDX-License-Identifier: MIT */
/* git-impl - shared by git-dir.c, which finds the repositories of a workspace, and git-repository.c,
 * which protects what is in one. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct err;
struct protection;

enum {
	GIT_POINTER_MAX = 1 << 20, /* git's own bound for a `.git` file */
	GIT_CONFIG_MAX = 1 << 20,
};

struct git {
	const char *workspace;
	const char *top; /* of the working tree that a configuration is for */
	const char *home;
	struct protection *protection;
	struct strv seen;     /* repositories */
	struct strv tops;     /* working trees that repositories name: of submodules */
	struct strv hooks;    /* folders that were read of and are not protected yet */
	char *worktree;       /* the same of a working tree */
	struct strv *modules; /* submodules that the configuration names; NULL: of no interest */
	unsigned visited, visited_inside;
	unsigned module_depth;
	unsigned inside; /* of how many repositories, on the way down */
	unsigned depth;  /* of includes */
	size_t included; /* bytes */
};

int git_protect(struct git *git, const char *base, const char *path, struct err *err);
/* DIR is the directory of a repository: it, its submodules and working trees. */
int git_protect_repository(struct git *git, const char *dir, struct err *err);
/* The file at PATH, from DIR, and what it includes. */
int git_read_config(struct git *git, const char *dir, const char *path, struct err *err);
/* NAME is SECTION[.SUBSECTION].KEY: a variable that the configuration of nobody in particular has. */
int git_take_variable(struct git *git, const char *name, const char *value, struct err *err);
/* Protect the folders of hooks that were read of: in the working tree that the configuration of DIR
 * named, or else in the top. DIR is NULL where it is nobody's, and obeyed in all of them. */
int git_protect_hooks(struct git *git, const char *dir, struct err *err);
/* 0 and an empty text when it is no regular file or out of our reach: the
 * command, which has no more rights than we, cannot write it either. */
int git_read_text(const char *path, size_t max, struct str *ret, struct err *err);
/* Read DIR/NAME as a pointer; NULL and 0 when there is none. */
int git_read_pointer(const char *dir, const char *name, char **ret, struct err *err);
/* The folder of the working tree that DIR, an entry of a repository, is for; NULL
 * when it does not say. */
char *git_working_tree(const char *dir);
/* Is there anything at DIR/NAME? What cannot be looked at may be. */
bool git_has(const char *dir, const char *name);
