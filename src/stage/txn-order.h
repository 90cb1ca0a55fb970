/* SPDX-License-Identifier: MIT */
/* txn-order - in which order the items of a txn can be carried out. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct txn;

/* Deletions, children first; then folders, parents first; then files. In a
 * repository what is referred to comes before what refers to it, and nothing is
 * deleted before that: whoever looks at any moment finds it whole.
 * Only items with an action. The caller frees *RET. -ENOMEM. */
int txn_order(const struct txn *txn, size_t **ret, size_t *ret_n);

/* Is ROOT, which a stage begins at, the directory of a repository, or in one? */
bool git_is_root(const char *root);
/* Where in PATH (of a root with that name) a git directory ends; NULL: it is in none. */
const char *git_inside(const char *root, const char *path);
/* Is it one's index? */
bool git_is_index(const char *root, const char *path);
/* Of what is in one: does it refer to others? */
bool git_is_reference(const char *inside);
