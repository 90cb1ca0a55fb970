/* SPDX-License-Identifier: MIT */
/*
 * path - the one resolver, and lexical path arithmetic.
 *
 * Whatever the host side opens on behalf of the confined side is opened by
 * path_open_beneath(): one openat2() relative to a directory descriptor, which
 * no concurrent rename can lead outside, and then used only by descriptor.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct str;
struct strv;

/* Which file it was when it was looked at; all zero: any. */
struct file_id {
	dev_t dev;
	ino_t ino;
};

/* openat2 RELATIVE beneath DIRFD: no "..", absolute or magic link leads
 * outside. FLAGS as open(2), O_CLOEXEC added. Works for paths longer than
 * PATH_MAX by descending in steps, each beneath the one before it only when
 * the path has no ".." component; else -ENAMETOOLONG.
 * Returns the descriptor or -errno (-EXDEV: it leads outside). */
int path_open_beneath(int dirfd, const char *relative, int flags, mode_t mode);
/* The same, and every symlink is refused (-ELOOP); O_PATH | O_NOFOLLOW opens
 * one that is the last component itself. */
int path_open_nolink(int dirfd, const char *relative, int flags, mode_t mode);
/* The same from the root: ABSOLUTE is normalized. */
int path_open_plain(const char *absolute, int flags);
/* Resolve RELATIVE as if DIRFD were the root ("/" and ".." stay in it).
 * -ENAMETOOLONG from PATH_MAX on. */
int path_open_in_root(int dirfd, const char *relative, int flags, mode_t mode);
/* The end of the links that RELATIVE leads through, wherever that is; magic
 * links are refused (-ELOOP). For what hides, never for what opens. */
int path_open_anywhere(int dirfd, const char *relative, int flags);

/* mkdir -p beneath DIRFD, following no symlink, component by component. A
 * ".." is refused (-EXDEV); "" and "." are DIRFD itself.
 * Returns an O_PATH descriptor of the last directory, or -errno. */
int path_mkdir_beneath(int dirfd, const char *relative, mode_t mode);

/* The absolute, symlink-free name of an open directory or file. -ENOENT: it
 * has none any more; -EINVAL: it never had one; -ENAMETOOLONG past PATH_MAX. */
int path_of_fd(int fd, char **ret_path);

/* Open PATH, wherever its links lead, and tell what it is called without any. */
int path_open_named(const char *path, int flags, char **ret_name);

/* Links resolved as far as PATH exists, the rest as it is: where it is, or where
 * it would be made. PATH is absolute and normalized. */
int path_resolve(const char *path, char **ret_path);

/* Lexical: absolute, no "//", "." or "..", no trailing slash (but "/").
 * BASE is prepended to a relative PATH. -EINVAL: BASE is not absolute. */
int path_normalize(const char *base, const char *path, char **ret_path);
/* Is PATH equal to DIR or below it? Both normalized. */
bool path_covers(const char *dir, const char *path);
/* Sort, and drop what is there twice or below another. All normalized. */
void paths_fold(struct strv *paths);
/* Does one of FOLDED, which paths_fold() made, cover PATH? */
bool paths_cover(const struct strv *folded, const char *path);
/* The first LEN bytes of PATH, which is absolute, are a path: how many of them are its folder's?
 * 0 for the root's. */
size_t path_folder_len(const char *path, size_t len);
/* strcmp() of the first LEN bytes of PATH, and OTHER. */
int path_compare_part(const char *path, size_t len, const char *other);
/* Join with exactly one slash. NULL: no memory. */
char *path_join(const char *dir, const char *name);
const char *path_basename(const char *path); /* borrows; "/" gives "/" */
