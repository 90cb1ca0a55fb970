/* SPDX-License-Identifier: MIT */
/*
 * cgroup - the control groups of one run: made, joined, read, removed.
 *
 * While the run lasts, the supervisor holds a lock on the first folder. One that
 * is not locked was left by a supervisor that was killed, and the next run in
 * the same place removes it.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "plan/rung.h"

struct err;
struct limits;
struct plan;
struct usage;

struct cgroup {
	enum rung rung;
	char name[32];              /* the same in every hierarchy */
	int base[CG_DIRS];          /* where it was made; -1 */
	int dir[CG_DIRS];           /* itself; -1 */
	int tasks[CG_DIRS];         /* v1: what the child writes itself into; -1 */
	int memory_peak, pids_peak; /* what the kernel counted; -1 */
	int cpu_used;               /* v1; -1 */
	bool sweeps;                /* others were there: some may have been left */
	bool spares; /* set before it is opened: memory that runs out ends one process */
};

void cgroup_init(struct cgroup *cg);
/* Make it with the limits of the plan. With RUNG_WATCHDOG there is none. */
int cgroup_open(struct cgroup *cg, const struct limits *limits, struct err *err);
/* For clone3(): the folder to start in, or -1. */
int cgroup_clone_fd(const struct cgroup *cg);
/* v1, in the child: moving a process from outside is dear. Allocation-free. */
int cgroup_join(const struct cgroup *cg, struct err *err);
/* v1: is it made while the child works on its root, and passed to it then? */
bool cgroup_is_passed(const struct plan *plan);
int cgroup_pass(const struct cgroup *cg, int channel, struct err *err);
int cgroup_join_passed(int *fds, size_t len, struct err *err); /* closes them */

bool cgroup_counts_cpu(const struct cgroup *cg);
uint64_t cgroup_cpu_ms(const struct cgroup *cg); /* so far */
/* Signalled when memory runs out; -1 where the kernel ends the whole group by
 * itself. The caller owns it. */
int cgroup_watch_oom(const struct cgroup *cg);
/* How often so far: a process was ended for its memory; one could not be made. */
uint64_t cgroup_ooms(const struct cgroup *cg);
uint64_t cgroup_forks_refused(const struct cgroup *cg);
/* Replaces what the cgroup knows better. */
void cgroup_usage(const struct cgroup *cg, unsigned own_pids, struct usage *usage);
void cgroup_close(struct cgroup *cg); /* once everything in it has ended */
