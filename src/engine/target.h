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

/* Something to mount on: what DIR is open on, or, with a NAME, what was made by that name in
 * the folder DIR just now. That one is ours, and nobody else is there to replace it. */
struct spot {
	int dir;
	const char *name; /* "": none */
	bool opened;      /* DIR is this spot's own */
};
#define SPOT_OF(fd) ((struct spot){(fd), "", false})
/* As target_open(), without opening what was made. */
int target_find(struct builder *b, const char *path, enum target kind, mode_t mode,
		struct spot *ret);
void spot_release(struct spot *spot);
int spot_clone(struct spot spot, unsigned recursive); /* a detached copy of its mount */
int spot_mount(struct spot spot, int mount);
/* Make the file PATH, which must not exist, on a filesystem of ours. */
int target_write(struct builder *b, const char *path, const char *text);
int target_symlink(struct builder *b, const char *to, const char *path);
/* Is FD on a filesystem that we made? */
bool target_is_ours(const struct builder *b, int fd);
/* Something was mounted at PATH: what is remembered below it is stale. */
void target_covered(struct builder *b, const char *path);
void target_forget(struct builder *b);
