/* SPDX-License-Identifier: MIT */
/*
 * xattr - what a file has besides bytes, owner and mode, when another takes its place.
 *
 * Privileged attributes (file capabilities, trusted.*) are never copied. FROM may be O_PATH, TO
 * must be open.
 */
#pragma once

/* The user's own attributes; those of overlays stay behind. A TO that can hold none is no error. */
int xattr_copy_users(int from, int to);
/* These, and the access list: TO has none afterwards where FROM has none, whatever the folder
 * gives to new files. The mode comes after this. -EOVERFLOW: the list names somebody who has no
 * id here, cannot be written again, and is not what the folder gives. */
int xattr_keep(int from, int to);
/* 1: FD has attributes that are never copied; 0: none. */
int xattr_has_privileged(int fd);
