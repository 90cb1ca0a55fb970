/* SPDX-License-Identifier: MIT */
/*
 * dir-names - what a folder holds, read at one go: which of many names are not there is known
 * without a look at each of them.
 *
 * It errs to one side only. A name that is there, or that the filesystem might take for one
 * that is there, is never said to be absent; one that is absent may be said to be there.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { DIR_NAMES_BITS = 4096 };

struct dir_names {
	bool is_known; /* all of them; else every name may be there */
	uint64_t bits[DIR_NAMES_BITS / 64];
};

/* FD is open for reading, at its beginning. Not known: a folder that is not small, a name that
 * is not ASCII, a filesystem of which it is not sure that it lists all that it finds. */
void dir_names_read(int fd, struct dir_names *ret);
/* NAME, or what is before its first slash, and whatever differs from it by case alone. */
bool dir_names_may_have(const struct dir_names *names, const char *name);
