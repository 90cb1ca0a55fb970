/* SPDX-License-Identifier: MIT */
/*
 * kept - output: what a run with max_output printed, kept for a while: STATE/output/RUN.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;

#define KEPT_DIR "output"

/* Make the file of run ID: a descriptor to write to, or -errno. */
int kept_make(int state, const char *id, struct err *err);
/* Open it for reading. -ENOENT, err untouched: there is none. */
int kept_open(int state, const char *id, struct err *err);
void kept_remove(int state, const char *id);
/* Remove what was last written before BEFORE_MS. What goes wrong is left for the next
 * time. */
void kept_expire(int state, uint64_t before_ms);
