/* SPDX-License-Identifier: MIT */
/* target - mount points in the new root: found without following a link, made
 * only on filesystems of ours. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct builder;

enum target { TARGET_EXISTING, TARGET_DIR, TARGET_FILE };

/* Open PATH (absolute, as seen inside). What is missing is made, with MODE for
 * the last component and 0755 for those above; not on the host's filesystems:
 * -ENOENT. PATH must outlive the builder, which remembers the last parent. */
int target_open(struct builder *b, const char *path, enum target kind, mode_t mode);
/* Make the file PATH, which must not exist, on a filesystem of ours. */
int target_write(struct builder *b, const char *path, const char *text);
int target_symlink(struct builder *b, const char *to, const char *path);
/* Is FD on a filesystem that we made? */
bool target_is_ours(const struct builder *b, int fd);
/* Something was mounted at PATH: what is remembered below it is stale. */
void target_forget(struct builder *b);
