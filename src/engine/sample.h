/* SPDX-License-Identifier: MIT */
/* sample - what a tree of processes uses right now, added up from /proc. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

struct sample {
	uint64_t memory; /* bytes of what is no file: their own, and the largest that is shared */
	uint64_t cpu_ms; /* of the living, and of the dead that were waited for */
	uint64_t pids;   /* threads */
};

/* TOP and everything below it. 0 or -errno; processes that end meanwhile are
 * no error. */
int sample_tree(pid_t top, struct sample *ret);
