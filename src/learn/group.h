/* SPDX-License-Identifier: MIT */
/*
 * group - many paths as few rules.
 *
 * A rule covers its path and everything below, so grouping opens more than was
 * touched; this is how much more:
 *
 * 1. A path that is not there any more, or is not there yet, counts as the closest
 *    folder above it that is: only what exists can be named by a rule.
 * 2. A file is a rule by itself while at most `files_max` of its folder are; more
 *    make it the folder. With files_max 0 it is the folder at once, as for writing,
 *    where programs make temporary files beside.
 * 3. While there are more than `rules_max`, the two rules with the deepest common
 *    folder become that folder.
 * 4. No rule lies above `floor`; what is not below it is passed over.
 * 5. A rule that `is_forbidden` is not made: its files stay rules of their own, and a
 *    path that is forbidden by itself goes to *ret_forbidden.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct strv;

enum path_type { PATH_ABSENT, PATH_FILE, PATH_FOLDER };

struct grouping {
	const char *floor; /* absolute, normalized */
	size_t rules_max;
	size_t files_max;
	enum path_type (*look)(const char *path, void *data); /* on the host */
	bool (*is_forbidden)(const char *path, void *data);
	void *data;
};

/* PATHS: absolute, normalized. The rules are added to *ret, sorted; none covers another. */
int group_paths(const struct grouping *g, const struct strv *paths, struct strv *ret,
		struct strv *ret_forbidden);
