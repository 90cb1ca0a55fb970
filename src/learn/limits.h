/* SPDX-License-Identifier: MIT */
/*
 * limits - from what was used at most to a limit that leaves room.
 *
 *     memory   2 x the peak, at least 64m
 *     cpu      2 x the peak, at least 5s
 *     timeout  3 x the longest, at least 10s
 *
 * rounded up to a value that reads well: steps of 16m and more, of 5s and more.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "config/keys.h"

/* The dimensions that have such a limit. */
#define LEARNED_LIMITS 3
extern const enum dim learned_limits[LEARNED_LIMITS];

/* DIM is one of them. SPEC_UNLIMITED when PEAK is 0: nobody knows. */
uint64_t limit_for_peak(enum dim dim, uint64_t peak);
unsigned limit_factor(enum dim dim); /* 2 or 3 */
