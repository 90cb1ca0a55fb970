/* SPDX-License-Identifier: MIT */
/*
 * scratch - a folder on the host for temporary files, where no private /tmp can
 * be mounted.
 *
 * Made by the supervisor before the run and removed after it. It is locked while
 * in use: what a killed supervisor left is removed by the next run.
 */
#pragma once

struct err;
struct plan;

/* Make what OP_SCRATCH of PLAN names. Returns a descriptor that holds the lock,
 * -EBADF when the plan has none, or another -errno. */
int scratch_make(const struct plan *plan, struct err *err);
/* Remove it and close FD; -1 ok. What cannot be removed now is left for later. */
void scratch_remove(const struct plan *plan, int fd);
