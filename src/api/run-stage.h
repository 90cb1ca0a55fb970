/* SPDX-License-Identifier: MIT */
/* run-stage - a run whose writes are staged: what comes before and after it. */
#pragma once
#include <stdbool.h>

struct err;
struct run;

/* An apply or discard that was interrupted is ended first: run->recovered says what
 * became of it. */
int run_recover(struct run *run, struct err *err);
/* engine_run() will not return but start pale over, inside of a scope. */
bool run_starts_over(const struct run *run);
/* Is there something to stage, and is this the process that will do it? */
bool run_is_staged(const struct run *run);
/* Open the stage, take its lock, decide what is mounted and what is joined;
 * run->plan->staging is then set. Undone by run_stage_end() whatever the outcome. */
int run_stage_begin(struct run *run, struct err *err);
/* Nothing of the run is left. EXECUTED: the command was; run->staged says what it
 * left. An error here is no error of the run: it is the caller's to report. */
int run_stage_end(struct run *run, bool executed, struct err *err);
