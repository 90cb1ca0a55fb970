/* SPDX-License-Identifier: MIT */
/* mark - changes that a reviewer must look at: protected names, and files that
 * something on the host will execute. */
#pragma once
#include "base/cleanup.h"

struct err;
struct node;
struct marker;
struct stage;

int marker_new(const struct stage *stage, struct marker **ret, struct err *err);
struct marker *marker_free(struct marker *marker);
DEFINE_CLEANUP(struct marker *, marker_free);

/* Of enum change_flags; *RET_WHY is static. */
unsigned marker_judge(const struct marker *marker, unsigned root, const char *path,
		      const struct node *new, const char **ret_why);
