/* SPDX-License-Identifier: MIT */
/*
 * observed - what the history knows of a command, beside its limits.
 *
 * No history, or one that cannot be read, is no error: then nothing is known.
 */
#pragma once
#include <stdbool.h>

#include "store/store.h"

struct context;
struct err;
struct json;
struct spec;
struct str;
struct table;

/* NULL: there is none. What is wrong with it is told on standard error. */
struct store *observed_open(const struct context *context);
/* All zero when nothing is known; STORE may be NULL. */
struct run_stats observed_stats(struct store *store, const char *command);

/* Cells of a table: runs, and memory, cpu and time with their limits. 0 or -ENOMEM. */
#define OBSERVED_HEADS "RUNS", "MEMORY", "CPU", "AVERAGE", "LONGEST"
enum { OBSERVED_COLUMNS = 5 };
int observed_cells(const struct run_stats *stats, const struct spec *spec, struct table *table);
/* The same as lines, for one command. */
int observed_text(const struct run_stats *stats, const struct spec *spec, struct str *out);
/* "observed": null, or an object. */
void observed_json(const struct run_stats *stats, struct json *json);

/* The newest runs of a command, as many as a picture takes. */
struct observed_runs {
	struct run_record *records;
	size_t len;
};
void observed_runs_release(struct observed_runs *runs);
int observed_runs(struct store *store, const char *command, struct observed_runs *ret,
		  struct err *err);
int observed_plot(const struct observed_runs *runs, const struct spec *spec, struct str *out);
int observed_svg(const char *command, const struct observed_runs *runs, const struct spec *spec,
		 struct str *out);
