/* SPDX-License-Identifier: MIT */
/*
 * path-walk - openat2() for where there is none: inside of a sandbox whose filter
 * refuses it, since it could hide a set-uid mode from the filter.
 *
 * Component by component, each opened without following a link; links are read
 * and walked, and ".." goes back to a descriptor that is held. So no concurrent
 * rename leads outside here either. Allocation-free.
 */
#pragma once
#include <stdint.h>
#include <sys/types.h>

/* RESOLVE as in openat2(2): RESOLVE_BENEATH, RESOLVE_IN_ROOT or neither, with or
 * without RESOLVE_NO_SYMLINKS; RESOLVE_NO_MAGICLINKS is implied. -ENAMETOOLONG,
 * -ELOOP also when it is deeper or longer than it can hold. */
int path_walk(int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve);
