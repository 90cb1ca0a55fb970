/* SPDX-License-Identifier: MIT */
/*
 * node - one file, folder or link as it was when it was looked at.
 *
 * Nothing here opens what it looks at, nor follows a link.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum node_type {
	NODE_ABSENT,
	NODE_FILE,
	NODE_DIR,
	NODE_LINK,
	NODE_FIFO,
	NODE_SOCKET,
	NODE_DEVICE,
	NODE_WHITEOUT, /* of the upper layer: a device 0:0 */
};

struct node {
	enum node_type type;
	mode_t mode; /* permission bits, 07777 */
	uid_t uid;
	gid_t gid;
	dev_t dev;
	ino_t ino;
	uint32_t nlink;
	uint64_t size;
	struct timespec mtime, ctime;
	struct timespec btime; /* of the birth; zero where the file system has none */
	char *target;          /* of a link; owned */
	bool is_marked;        /* has attributes (chattr) that a new file has not */
	bool is_plain;         /* of a staged file: has no attributes of any kind */
};

/* NAME in DIRFD ("" is DIRFD itself). What is not there is NODE_ABSENT, and no
 * error. RELEASE before it is read again. */
int node_read(int dirfd, const char *name, struct node *ret);
void node_release(struct node *node);
int node_copy(struct node *dst, const struct node *src);

const char *node_type_name(enum node_type type); /* "a folder" */
int timespec_compare(struct timespec a, struct timespec b);
/* The same file, not touched since: type, number, size, mode, mtime; a rename and
 * a new link are no matter. */
bool node_is_unmoved(const struct node *a, const struct node *b);
/* And ctime: nothing whatever was done to it. */
bool node_is_same(const struct node *a, const struct node *b);
