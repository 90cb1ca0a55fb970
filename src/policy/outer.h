/* SPDX-License-Identifier: MIT */
/*
 * outer - the spec that this process itself is under.
 *
 * A sandbox holds a description of itself, in a place where nobody inside can
 * put another one: at the root, whose mount is read-only, or as a read-only mount
 * of its own. Outside only root could make such a file.
 */
#pragma once
#include <stdbool.h>

struct err;
struct spec;
struct user;

#define OUTER_AT_ROOT "/.pale-spec"
#define OUTER_IN_RUN  "/run/.pale-spec" /* where the root is the host's */

/* Where the description is; NULL: there is none. */
const char *outer_path(void);
/* *ret is overwritten. *ret_staged: what is written inside waits for review outside.
 * -ENOENT, err untouched: we are in no sandbox of pale's.
 * A description that is there and cannot be read is another error: what is run
 * from here must not come out looser than we are. */
int outer_read(const struct user *user, struct spec *ret, bool *ret_staged, struct err *err);
/* How a description begins whose writes are staged. */
#define OUTER_STAGED "# mode = \"staged\"\n"
