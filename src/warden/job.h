/* SPDX-License-Identifier: MIT */
/*
 * job - what a warden that was executed afresh is told: as one file.
 *
 * The native engine's warden is a clone that knows the plan. Where another
 * program makes the walls (bwrap, a container), pale executes itself inside,
 * and reads from a descriptor what is left to do: the steps of the plan that a
 * process does to itself, the command and its environment. None of that passes
 * through the other program, whose own environment stays empty.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "plan/plan.h"

struct err;

enum { JOB_STEPS_MAX = 256, JOB_SIZE_MAX = 16 << 20 };

struct job {
	bool owns_pidns;
	bool is_tool; /* argv is one of our own, not a program */
	bool stands;  /* neither: errands come later */
	char *cwd;
	struct op steps[JOB_STEPS_MAX];
	size_t steps_len;
	char **argv; /* both in one allocation, which argv owns */
	char **env;
};

/* NUL-terminated words. STANDS: without the command and its environment. 0 or -ENOMEM. */
int job_pack(const struct plan *plan, bool stands, struct str *out);
/* The words in TEXT, which must outlive the job. */
int job_parse(struct str *text, struct job *ret, struct err *err);
void job_release(struct job *job);
