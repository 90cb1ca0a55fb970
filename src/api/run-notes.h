/* SPDX-License-Identifier: MIT */
/*
 * run-notes - what somebody at a terminal is told about a run that has ended: what pale or a
 * limit did to it, what was refused, what happened to protected names.
 */
#pragma once

struct err;
struct run;

typedef void run_note_fn(void *data, const struct err *note);

/* None for a run that worked and that nothing happened to. */
void run_notes(const struct run *run, run_note_fn *say, void *data);
