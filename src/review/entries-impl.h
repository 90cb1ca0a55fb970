/* SPDX-License-Identifier: MIT */
/* entries-impl - what the parts of entries share. */
#pragma once
#include "review/entries.h"

/* Make one entry of a file that went and one that came. */
int entries_find_renames(const struct staged *staged, struct entries *entries, struct err *err);
void entries_drop(struct entries *entries, const bool *gone);
mode_t mode_in_patch(const struct node *node, mode_t mode);
bool node_is_patchable(const struct node *node); /* a file or a link */
