/* SPDX-License-Identifier: MIT */
/*
 * detect - commands that a project's build files suggest.
 *
 * The files are read, never executed, and opened so that no link leads out of
 * the workspace. What is not understood is passed over.
 */
#pragma once
#include "base/str.h"

struct err;

struct found_command {
	char *name;
	struct strv argv;
	const char *preset; /* NULL: none of its own */
	const char *source; /* "Makefile" */
};

struct found {
	struct found_command *items;
	size_t len;
};

/* Of several commands of one name the first is kept. */
int detect_commands(int dirfd, struct found *ret, struct err *err);
void found_release(struct found *found);

/* For the detectors below. All return 0 or -ENOMEM. */

/* ARGV ends in NULL. A NAME that is no valid one is passed over. */
int found_add(struct found *found, const char *source, const char *name, const char *const *argv);
/* Read NAME as a whole; 1: done, 0: it is not there, or not fit to be read. */
int detect_read(int dirfd, const char *name, struct str *ret_text);
bool detect_exists(int dirfd, const char *name);

int detect_make(int dirfd, struct found *found);
int detect_node(int dirfd, struct found *found);
int detect_python(int dirfd, struct found *found);
