/* SPDX-License-Identifier: MIT */
/*
 * tighten - limits from the history of a command.
 *
 * Pure. It only narrows: a limit becomes what limits.h makes of the peak, unless
 * it is that tight already. Nothing but limits: that a command did not use the
 * network so far does not prove that it never will.
 */
#pragma once
#include <stdbool.h>

#include "learn/limits.h"
#include "policy/spec.h"
#include "store/store.h"

struct json;
struct str;

#define TIGHTEN_RUNS_MIN 3

enum tighten_verdict {
	TIGHTEN_DONE,     /* at least one limit becomes tighter */
	TIGHTEN_FEW_RUNS, /* fewer successful runs than TIGHTEN_RUNS_MIN */
	TIGHTEN_UNKNOWN,  /* nothing is known of what they used */
	TIGHTEN_ENOUGH,   /* every limit is as tight already */
};

struct tightened {
	enum dim dim;
	uint64_t peak;   /* 0: unknown */
	uint64_t before; /* SPEC_UNLIMITED: none */
	uint64_t after;  /* never above `before` */
	bool is_unheld;  /* it would be a new limit, which this machine cannot hold */
};

struct tightening {
	enum tighten_verdict verdict;
	uint64_t successful; /* runs that it rests on */
	struct tightened items[LEARNED_LIMITS];
};

/* HELD: the dimensions in which this machine holds a limit. Elsewhere one that is there is
 * narrowed, but none is made: the command would not run any more. */
void tighten(const struct spec *spec, const struct run_stats *stats, dim_set held,
	     struct tightening *ret);
/* One sentence about a verdict other than TIGHTEN_DONE. */
int tightening_reason(const struct tightening *tightening, struct str *out);
/* A limit as in TOML, or "none". */
int limit_put(enum dim dim, uint64_t value, struct str *out);
/* What was used, rounded for a reader, or "unknown". */
int peak_put(enum dim dim, uint64_t value, struct str *out);
/* "verdict", "successful_runs", and "limits": […] with peaks in bytes and milliseconds.
 * Into the object that is open. */
void tightening_json(const struct tightening *tightening, struct json *json);
