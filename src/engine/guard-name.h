/* SPDX-License-Identifier: MIT */
/*
 * guard-name - a protected name in a folder, and the file that it leads to.
 *
 * For engine/guard only: what can be known of a file that the host may remove or
 * replace at any moment.
 */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "base/path.h"

/* 1: it is there; 0: it is not; else -errno, and that cannot be told: -EACCES where the folder may
 * not be searched by its owner, who made it so. */
int name_look(int dir, const char *name, struct stat *ret);
void name_open_folder(int dir); /* to its owner, for everything */
/* The same, more than once where it fails: such a folder is opened, and stays open. */
int name_look_behind(int dir, const char *name, struct stat *ret);
/* May it have been away, since its time was SINCE? A folder has no second name to come back by, and
 * its time is that of what it holds. */
bool name_may_have_left(int dir, const char *name, const struct timespec *since);

/* What is known of a folder since it was looked at last. */
struct glance {
	struct timespec changed;
	bool settled; /* that was long before the look */
};
/* False: names may have come or gone since the last call. */
bool glance_finds_same(struct glance *glance, int dir);
bool name_is(const struct file_id *a, const struct file_id *b);

/* The file ID under NAME, open, or -1 where it is another one by now. While it is
 * held its number is no other file's: a new one can get that of a file that was
 * removed. */
int name_hold(int dir, const char *name, const struct file_id *id, struct stat *ret);

/* The kernel takes the mounts off a file that is removed or replaced, and waits for
 * a grace period, before the name stops leading to it. False: NAME stays. */
bool name_leaves(int dir, const char *name, const struct file_id *id);

/* A descriptor from before the new mount would outlive it. What cannot be told
 * counts as one. */
bool name_may_have_writer(int dir, const char *name);
bool name_is_link(int dir, const char *name, const char *target); /* to TARGET */
/* Might a name as it was REPORTED be this one? On a file system that folds case another
 * spelling is the same name, and what counts is what the name leads to. */
bool name_may_be(const char *name, const char *reported);
