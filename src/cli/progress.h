/* SPDX-License-Identifier: MIT */
/* progress - long work: a line on the terminal, and a Ctrl-C that is clean. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
	const char *doing; /* "applying" */
	uint64_t began, last;
	bool on;    /* standard error is a terminal */
	bool shown; /* there is a line to be wiped */
};

/* QUIET: never a line. From here on SIGINT, SIGTERM and SIGHUP only ask to stop. */
void progress_begin(struct progress *progress, const char *doing, bool quiet);
/* An apply_progress_fn: -ECANCELED when the work is to stop. */
int progress_step(void *progress, size_t done, size_t total, const char *path);
/* Wipes the line; signals are as before. */
void progress_end(struct progress *progress);
/* For work that takes no progress_step(): TEXT (static) on the terminal when it lasts.
 * Those signals wait until the end: reading a stage may lend itself permissions, and
 * has to give them back. */
void progress_wait(const char *text);
void progress_wait_end(void);
/* The signal that asked to stop, or 0. */
int progress_signal(void);
