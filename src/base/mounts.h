/* SPDX-License-Identifier: MIT */
/* mounts - what is mounted where in this namespace, by /proc/self/mountinfo. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct strv;

struct mounts {
	struct mount_entry {
		const char *device; /* "254:0": the filesystem */
		const char *root;   /* the folder or file of it that is shown */
		const char *point;  /* and where */
		const char *type;   /* "" where it is unknown */
	} * items;                  /* a later one at the same point covers the earlier */
	size_t len;
	char *text; /* of all of them */
};

/* 0 and *RET, to be released; or -errno. */
int mounts_read(struct mounts *ret, struct err *err);
/* The same of TEXT, which is the result's from here on, also on failure. 0 or -ENOMEM. */
int mounts_parse(char *text, struct mounts *ret);
void mounts_release(struct mounts *mounts);

/* Is a filesystem mounted twice? On most machines none is. What /proc shows counts as one. 1, 0 or
 * -ENOMEM. */
int mounts_have_twins(const struct mounts *mounts);
/* The same of this namespace, by asking the kernel for each, which costs less than to read it all.
 * True also where it does not say (before Linux 6.8). */
bool mounts_may_have_twins(void);

/* The names, other than itself, that mounts give PATH or a part of what is in it, appended to RET.
 * PATH has no links. 0 or -ENOMEM. */
int mounts_mirrors(const struct mounts *mounts, const char *path, struct strv *ret);
/* Where processes, devices or control groups are shown other than in /proc and /sys, appended to
 * RET. 0 or -ENOMEM. */
int mounts_of_kernel(const struct mounts *mounts, struct strv *ret);
