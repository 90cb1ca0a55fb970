/* SPDX-License-Identifier: MIT */
/*
 * walk - follow a path as the kernel does, and remember what it depends on: every
 * link on the way, the first thing that is missing, and what is at its end.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/path.h"

struct err;
struct protection;

struct walk {
	struct protection *protection; /* gets what the path depends on */
	bool keep_writable;            /* a folder at the end holds protected names, and is none */
	/* The end, when there is one. */
	char *real; /* NULL: something is missing */
	mode_t mode;
	struct file_id id;
};

/* PATH, relative to the absolute BASE. */
int walk_path(struct walk *walk, const char *base, const char *path, struct err *err);
void walk_release(struct walk *walk);
