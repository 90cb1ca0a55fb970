/* SPDX-License-Identifier: MIT */
/*
 * record - at the end of a run: what the base of each changed path is, so that a
 * later change of it on the host is seen, and can be merged.
 */
#pragma once
#include <stddef.h>

struct err;
struct stage;

struct stage_summary {
	size_t n_changes; /* files that differ now; folders only when they are all there is */
};

/* After the last process of RUN_ID is gone. Other runs may still be writing: what
 * vanishes meanwhile is passed over. */
int stage_record(struct stage *stage, const char *run_id, struct stage_summary *ret,
		 struct err *err);
