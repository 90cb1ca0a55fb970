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
	const struct node *upper, *base; /* the base's also when it is not seen any more */
	int upper_dir, base_dir;         /* that hold it; -1: the base has none */
	const char *name;                /* in these; "" for the root */
	bool is_opaque;                  /* a folder with its own mark */
	bool is_too_deep;                /* what is below is not walked */
};

/* Something of the base that is not seen any more, because of an entry above it. */
struct upper_gone {
	const char *path;
	const struct node *base;
	const char *by;             /* the entry's path */
	const struct node *by_node; /* and itself, without a target */
	bool is_unreadable;         /* a folder: what is below is not known */
};

struct upper_visitor {
	/* Every entry of the upper layer, whiteouts too; a folder before its entries. */
	int (*entry)(void *data, const struct upper_entry *entry);
	int (*gone)(void *data, const struct upper_gone *gone);
	void *data;
};

/* An answer below 0 of a visitor ends the walk and is returned. -E2BIG: too much.
 * -EAGAIN: the base changed on the way; what was seen is worth nothing. */
int upper_walk(int upper, int base, const struct upper_visitor *visitor, struct relaxed *relaxed,
	       struct err *err);

/* Does the walk stop at the folder PATH? */
bool upper_is_too_deep(const char *path);
int upper_mark(int dir_fd); /* of enum upper_mark, or -errno */
int upper_set_opaque(int dir_fd, bool opaque);
/* Was it copied from the base? For files and folders; others do not say. */
bool upper_is_copied(int dirfd, const char *name);
int upper_make_whiteout(int dirfd, const char *name); /* -EEXIST */
/* As node_read(), with whiteouts of both kinds as such. */
int upper_read(int dirfd, const char *name, enum upper_mark dir_mark, struct node *ret);
