/* SPDX-License-Identifier: MIT */
/*
 * pattern - names of files by pattern: *, ?, [a-z], {a,b}, and ** for any folders. Pure.
 *
 * A \ takes what follows for itself. Names are taken apart at slashes; what has been seen
 * of a path so far is a set of places in the pattern, so that a walk can tell where nothing
 * below can match, and no path takes long.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PATTERN_BRANCHES_MAX = 1000, PATTERN_PARTS_MAX = 60 };

struct pattern_part {
	char *text; /* of one name */
	bool deep;  /* "**" */
	bool plain; /* no wildcard, no \ */
};

struct pattern_branch {
	struct pattern_part *parts;
	size_t len;
};

struct pattern {
	struct pattern_branch *branches; /* what braces expand to */
	size_t len;
	bool only_dirs; /* it ends in a slash */
};

/* ANYWHERE: a pattern without a slash matches a name in any folder. -EINVAL: *ret_why says
 * what is wrong. Released whatever the outcome. */
int pattern_compile(const char *text, bool anywhere, struct pattern *ret, const char **ret_why);
void pattern_release(struct pattern *pattern);

/* One for each branch. */
typedef uint64_t pattern_places;

void pattern_start(const struct pattern *pattern, pattern_places *ret);
/* FROM the folder that NAME is in; RET may be FROM. */
void pattern_step(const struct pattern *pattern, const pattern_places *from, const char *name,
		  pattern_places *ret);
bool pattern_is_match(const struct pattern *pattern, const pattern_places *at);
bool pattern_can_go_on(const struct pattern *pattern, const pattern_places *at);
/* The whole of PATH, which is relative and plain. */
bool pattern_matches(const struct pattern *pattern, const char *path);
/* One NAME against one part. */
bool pattern_matches_name(const char *part, const char *name);
