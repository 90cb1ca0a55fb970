/* SPDX-License-Identifier: MIT */
/*
 * place - where file tools may work, and how a path becomes a descriptor there.
 *
 * Every path is resolved beneath one of the roots, by the resolver of base/path.h, and from
 * then on the descriptor is used. A link is followed where it stays beneath a root. Nothing
 * in a path is expanded.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct reply;
struct file_request;

enum { PLACE_ROOTS_MAX = 128 };

struct place_root {
	const char *path; /* borrowed */
	int fd;           /* O_PATH; -1: nothing is there */
	bool is_dir;
};

struct place {
	const struct file_request *request;
	struct place_root roots[PLACE_ROOTS_MAX];
	size_t len;
};

/* -E2BIG. A root that is not there is none. */
int place_open(const struct file_request *request, struct place *ret);
void place_close(struct place *place);

/* What is at a path. */
struct target {
	int fd;     /* O_PATH; -1: nothing */
	int parent; /* O_PATH, of the folder that it is in; or -1 */
	char *path; /* absolute, without links */
	struct stat st;
	const struct place_root *root;
};
#define TARGET_NONE                                                                                \
	{                                                                                          \
		.fd = -1, .parent = -1                                                             \
	}
void target_release(struct target *target);
const char *target_name(const struct target *target); /* the last part of its path */
/* Its path as it is shown: relative to the folder where relative ones begin, if beneath it. */
const char *target_shown(const struct target *target, const struct file_request *request);

/* What is at PATH. 0; or 1, and the answer says why not. */
int place_find(const struct place *place, const char *path, struct target *ret,
	       struct reply *reply);
/* The same of a regular file. */
int place_find_file(const struct place *place, const char *path, struct target *ret,
		    struct reply *reply);
/* The regular file at PATH, or where it is to be made: `parent` is open, `fd` is -1 and the
 * folders on the way are there. Refused where it is protected. */
int place_find_written(const struct place *place, const char *path, struct target *ret,
		       struct reply *reply);
/* The same, and it must exist. */
int place_find_existing(const struct place *place, const char *path, struct target *ret,
			struct reply *reply);
/* An O_PATH descriptor of a regular file, for reading. -errno. */
int place_reopen(int fd, int flags);
/* R, of writing at FD: what permissions refuse stays -EACCES; of the boundary that is -EROFS. */
int place_refusal(int fd, int r);
/* Say why something could not be done with PATH; R: -errno. Returns 1. */
int place_fail_written(struct reply *reply, const char *path, int r);
int place_fail(struct reply *reply, const char *path, int r);
const char *place_type(mode_t mode); /* "a folder" … */
