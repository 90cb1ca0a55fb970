/* SPDX-License-Identifier: MIT */
/* tree-remove - a folder and all that is in it, whatever its depth. */
#pragma once

/* Open the folder NAME, which somebody has just seen. It may have no permissions: its owner gives
 * them back. Root needs none, and must not change those of what somebody could put in its place. */
int tree_open_dir(int at, const char *name);

/* Remove everything in the folder TOP, following no link. It needs neither stack nor
 * descriptors for the depth of the tree: folders are moved up into TOP first. Where
 * the permissions are in the way of their owner, they are changed. 0 or -errno. */
int tree_empty(int top);
/* The same, and NAME in PARENT itself, which is not a link. -ENOENT: there is none. */
int tree_remove(int parent, const char *name);
