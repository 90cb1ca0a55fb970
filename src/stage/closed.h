/* SPDX-License-Identifier: MIT */
/*
 * closed - what is in a folder that its own owner cannot list.
 *
 * Of the host's folders not even the mode is touched only to look: that would change the
 * time by which conflicts are told. A child in a user namespace of its own has power over
 * what belongs to its user, and no other.
 */
#pragma once

/* Is the folder PATH below DIRFD empty? 1 or 0; -EACCES: it cannot be told. */
int closed_is_empty(int dirfd, const char *path);
