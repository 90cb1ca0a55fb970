/* SPDX-License-Identifier: MIT */
/* make - one file, folder or link, made as another one is. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

struct node;

/* What NODE says and FROM_NAME in FROM_DIR is (only of a file or folder is it looked
 * at again), as TO_NAME in TO_DIR, which has none. MODE is given to it, and NODE's time;
 * its owner where we may. A folder is empty, and its owner's alone until it has its
 * place. -ESTALE: it is another by now. On failure nothing is left. */
int make_copy(int from_dir, const char *from_name, const struct node *node, mode_t mode, int to_dir,
	      const char *to_name);
/* Can the staged file itself be had in place of a copy with MODE? Only one that would be
 * no different, and that nobody can write to any more but by its name. 1, 0 or -errno. */
int make_needs_no_copy(int dir, const char *name, const struct node *node, mode_t mode);
/* The access list of a file that stands at FROM becomes that of the one at TO: without it
 * the bits of the group in MODE would say more than they did. */
int make_acl(int from_dir, const char *from_name, int to_dir, const char *to_name, mode_t mode);
/* A regular file of these bytes, with NODE's owner and time, and the user's attributes of LIKE,
 * which may be -1. */
int make_text(const void *data, size_t len, const struct node *node, mode_t mode, int like,
	      int to_dir, const char *to_name);
