/* SPDX-License-Identifier: MIT */
/* settle-impl - what leaving the upper layer and coming back to it share. */
#pragma once
#include <stdbool.h>

#include "stage/access.h"
#include "stage/txn.h"

#define SCRATCH "folder" /* in staged/, beside the keys of items */

struct settler {
	struct txn *txn;
	const struct txn_root *root;
	unsigned root_index;
	struct relaxed relaxed;
	struct err *err;
	const char *plain; /* an item that is in no folder which hides its base */
};

int settler_move(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
bool settler_leaves(const struct settler *s, const struct txn_item *item);
void settler_remove_scratch(const struct settler *s);
/* A folder as the base has it, with nothing in it: made aside, so that it is whole
 * from the first moment. FLAGS of the rename to its place. */
int settler_make_folder(const struct settler *s, int upper, const char *name, const char *path,
			const struct node *like, bool opaque, unsigned flags);

/* All items of one root. */
int settler_restage(struct settler *s);
