/* SPDX-License-Identifier: MIT */
/*
 * caches - folders that a project keeps between runs, in the user's state.
 *
 * The command sees one where it expects its cache, and writes there; the host's
 * own folder of that name stays out of sight.
 */
#pragma once
#include <sys/types.h>

struct err;
struct strv;
struct workspace;

/* Where the cache for PATH is kept: a new string, NULL without memory or where no
 * state directory is known. */
char *cache_dir(const struct workspace *workspace, const char *path);
/* Make those that are missing, for UID and GID. */
int caches_make(const struct workspace *workspace, const struct strv *paths, uid_t uid, gid_t gid,
		struct err *err);
