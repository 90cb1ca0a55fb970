/* SPDX-License-Identifier: MIT */
/*
 * live - runs that overlap in time share one overlay mount for each root.
 *
 * Two mounts on one upper layer are undefined in the kernel. So a run that has
 * mounted keeps descriptors of its namespaces and of the overlays' roots, and
 * writes their numbers to its slot; a later one opens them through /proc, enters
 * the namespaces in a child, and takes a copy of the mount.
 *
 * Who decides holds the mount lock until its own mounts are written down: under
 * that lock, what is mounted is what the slots say.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct stage;

/* Take both locks: the mount lock, and the shared one. Waits for the first, and for
 * killed runs that are not quite gone. -ENOENT, err untouched: it was removed. */
int stage_enter(struct stage *stage, struct err *err);
/* A detached copy of the living mount of ROOT in *ret_mount; -1: nobody has it, so
 * that it can be mounted afresh. */
int stage_join(struct stage *stage, unsigned root, int *ret_mount, struct err *err);
/* The run is about to begin: whatever becomes of it, somebody will see that it ends. */
int stage_announce(struct stage *stage, const char *run_id, struct err *err);
/* FDS: user and mount namespace, then one for each of ROOTS. Owned from here on,
 * until stage_leave(). Lets go of the mount lock. */
int stage_publish(struct stage *stage, const char *run_id, const unsigned *roots, size_t n,
		  const int *fds, struct err *err);
/* The run's last process is gone. The shared lock stays. */
void stage_leave(struct stage *stage, const char *run_id);
/* Nothing is left to do about it: a line in `runs`, and its slot is free. Of a run that was
 * not announced, nothing. */
int stage_finish(struct stage *stage, const char *run_id, struct err *err);
/* After that: where nothing is staged, and nobody else is here, the log begins anew.
 * The shared lock may be gone. */
void stage_tidy(struct stage *stage);
void stage_mount_unlock(struct stage *stage);
/* With the exclusive lock: nothing of a killed run is left. Waits for what is
 * going away, and ends its line in `runs`. */
int stage_settle(struct stage *stage, struct err *err);
