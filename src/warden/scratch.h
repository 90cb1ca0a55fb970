/* SPDX-License-Identifier: MIT */
/*
 * scratch - a folder on the host for temporary files, where no private /tmp can
 * be mounted.
 *
 * Made by the supervisor before the run and removed after it. It is locked while the
 * supervisor lives: what a killed one left is removed by whoever ends the run, or else
 * by the next one.
 */
#pragma once

struct err;
struct plan;

struct scratch {
	int fd; /* holds the lock; -1: none */
	int parent;
};
#define SCRATCH_NONE ((struct scratch){.fd = -1, .parent = -1})

/* What OP_SCRATCH of PLAN names, or NULL. */
const char *scratch_path(const struct plan *plan);
/* Make it, if the plan has one; *ret is untouched else. */
int scratch_make(const struct plan *plan, struct scratch *ret, struct err *err);
/* Remove it, if there is one. What cannot be removed now is left for later. */
void scratch_remove(const struct plan *plan, struct scratch *scratch);
/* Remove PATH if nobody has it locked: for those whose supervisor is gone. */
void scratch_remove_left(const char *path);
