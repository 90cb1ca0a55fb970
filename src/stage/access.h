/* SPDX-License-Identifier: MIT */
/*
 * access - files of our own layer, also where their permissions are in the way.
 *
 * A command can take the owner's permissions from what it leaves behind. Folders
 * that are opened here get them back for as long as the struct lives.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct strv;

/* A folder that stays open for the next path in it: only of trees that nobody else
 * changes meanwhile. Begins as all zero. */
struct folder {
	char *path; /* NULL: none */
	int fd;     /* or -errno */
};

/* Is R, of an open, that there is no such folder? */
bool is_absent(int r);
/* The folder that holds PATH, as open_parent() gives it, but borrowed: until the next
 * call. Of one that is not there, that is remembered. */
int folder_parent(struct folder *folder, int dirfd, const char *path, const char **ret_name);
void folder_release(struct folder *folder); /* after what it has open was moved, too */

struct relaxed {
	struct relaxed_item {
		char *path;
		ino_t ino;
		mode_t mode;
	} * items;
	size_t n;
	/* Told before anything is changed; below 0: it is not to be. May be NULL. */
	int (*note)(void *data, unsigned root, const char *path, mode_t mode);
	void *data;
	unsigned root;
	struct folder last;
	int last_access;
};

/* path_open_nolink(), after giving ourselves what is needed on the way. */
int relaxed_open(struct relaxed *relaxed, int dirfd, const char *path, int flags);
/* The folder that holds PATH, to look at what is in it; and to write there. Borrowed:
 * until the next call. */
int relaxed_search_parent(struct relaxed *relaxed, int dirfd, const char *path,
			  const char **ret_name);
int relaxed_open_parent(struct relaxed *relaxed, int dirfd, const char *path,
			const char **ret_name);
void relaxed_restore(struct relaxed *relaxed, int dirfd); /* and releases */

/* The folder that holds PATH, O_PATH; *RET_NAME borrows from PATH. "" is refused
 * (-EINVAL). */
int open_parent(int dirfd, const char *path, const char **ret_name);
/* A regular file for reading, which must be INO (0: any). -ESTALE: it is not. */
int open_file(int dirfd, const char *name, ino_t ino);
/* The same of the upper layer, also where its owner may not read it. */
int open_staged_file(int dirfd, const char *name, ino_t ino);
int dir_names(int fd, struct strv *ret); /* sorted; FD is at its beginning */
bool dir_is_empty(int fd);               /* also when it cannot be told: false */
int fd_chmod(int fd, mode_t mode);       /* also O_PATH; not of a link */
