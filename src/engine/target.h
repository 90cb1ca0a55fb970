/* SPDX-License-Identifier: MIT */
/* target - mount points in the new root: found without following a link, made
 * only on filesystems of ours. */
#pragma once
#include <sys/types.h>

struct builder;

enum target { TARGET_EXISTING, TARGET_DIR, TARGET_FILE };

/* Open PATH (absolute, as seen inside) as O_PATH. What is missing is made, with
 * MODE for the last component and 0755 for those above; not on the host's
 * filesystems: -EROFS. */
int target_open(const struct builder *b, const char *path, enum target kind, mode_t mode);
int target_symlink(const struct builder *b, const char *to, const char *path);
