/* SPDX-License-Identifier: MIT */
/*
 * sensitive - paths that no learned or proposed rule may open.
 *
 * A person may write any rule; what pale derives by itself (suggest, allow) never
 * opens a credential, what programs of the host run later, pale's own files, a whole
 * home, or a folder of the system as a whole. A rule covers its path and all below,
 * so a folder that holds one of these counts as well.
 */
#pragma once
#include <stdbool.h>

struct user;

/* PATH: absolute, normalized and without links; those of the user are looked at. *ret_why
 * (may be NULL): the reason, as the end of "not opened: …"; static. What lies in the
 * workspace is visible to its commands anyway: ask about paths outside of it. */
bool path_is_sensitive(const char *path, const struct user *user, const char **ret_why);
/* Is it one of the programs and settings that all users of the machine share? To read them
 * is nothing, to write them is. */
bool path_is_shared(const char *path);
/* Likewise: might a program of the host take orders from what is written there? So it is below every
 * folder of a home that begins with a dot, but for caches, and below protected names anywhere. */
bool path_is_obeyed(const char *path, const struct user *user);
