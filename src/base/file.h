/* SPDX-License-Identifier: MIT */
/* file - whole files: read with bounds, replaced atomically. */
#pragma once
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

struct err;
struct str;

/* Open a regular file for reading without blocking on a fifo; other types are
 * refused (-EINVAL, err names the type). Fills *ret_st from the descriptor.
 * Returns the descriptor, or -errno: -ENOENT sets err as well. */
int file_open_regular(int dirfd, const char *path, struct stat *ret_st, struct err *err);

/* Read a whole regular file of at most MAX bytes. */
int file_read(int dirfd, const char *path, size_t max, struct str *ret_text, struct err *err);

/* NAME was made just now, in a workspace where a run may go on: is it still there after the time that a
 * guard of that run needs? -EBUSY: no. */
int file_stays(int dirfd, const char *name, struct err *err);

/* Replace NAME in DIRFD by LEN bytes of DATA: temp file beside it, fsync,
 * rename, fsync of the directory. An existing file's mode, access list and own
 * attributes are kept, and so is its owner where we may; a new one gets MODE. A symlink as NAME is refused.
 * On any failure the old file is untouched and no temp file is left; only when
 * the last fsync fails is the new one in place already (err says so). */
int file_replace(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
		 struct err *err);
