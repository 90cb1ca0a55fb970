/* SPDX-License-Identifier: MIT */
/*
 * upper - the upper layer of an overlay as the kernel understands it, walked
 * beside the base.
 *
 * Whatever is in it: the walk needs no stack, follows nothing, opens nothing but
 * folders, and is bounded in depth and memory.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "stage/node.h"

struct err;
struct relaxed;
struct strv;

enum {
	UPPER_DEPTH_MAX = 4096,
	UPPER_PATH_MAX = 32768, /* bytes */
};

enum upper_mark {
	UPPER_PLAIN,
	UPPER_OPAQUE,    /* hides what the base has there */
	UPPER_XWHITEOUT, /* may hold whiteouts that are files with an attribute */
};

/* An entry, and what the base has of the same name. */
struct upper_entry {
	const char *path;                /* "" is the root */
	const struct node *upper, *base; /* base NODE_ABSENT: or hidden by nothing */
	int upper_dir, base_dir;         /* that hold it; -1: the base has none */
	const char *name;                /* in these; "" for the root */
	bool is_opaque;                  /* a folder with its own mark */
	bool is_too_deep;                /* what is below is not walked */
};

struct upper_visitor {
	/* Every entry of the upper layer, whiteouts too; a folder before its entries. */
	int (*entry)(void *data, const struct upper_entry *entry);
	/* Of the base, what the entry at BY hides without having one of that name. */
	int (*gone)(void *data, const char *path, const struct node *base, const char *by,
		    bool is_unreadable);
	void *data;
};

/* An answer below 0 of a visitor ends the walk and is returned. -E2BIG: too much. */
int upper_walk(int upper, int base, const struct upper_visitor *visitor, struct relaxed *relaxed,
	       struct err *err);
/* Everything of the base below PATH, which is a folder of it. */
int base_walk(int base, const char *path, const struct upper_visitor *visitor, struct err *err);

enum upper_mark upper_mark(int dir_fd);
int upper_set_opaque(int dir_fd, bool opaque);
/* Was it copied from the base? For files; others do not say. */
bool upper_is_copied(int dirfd, const char *name);
int upper_make_whiteout(int dirfd, const char *name); /* -EEXIST */
/* As node_read(), with whiteouts of both kinds as such. */
int upper_read(int dirfd, const char *name, enum upper_mark dir_mark, struct node *ret);
