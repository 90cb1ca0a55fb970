/* SPDX-License-Identifier: MIT */
/*
 * series - what runs used, one after the other, made ready to be drawn.
 *
 * More runs than there is room for share a column, which then shows the highest
 * value and the worst outcome of them: nothing that matters is averaged away.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/run-record.h"

enum measure { MEASURE_DURATION, MEASURE_MEMORY, MEASURE_CPU, MEASURE_COUNT_ };

/* How a run ended, as far as a picture tells; the worst last. */
enum mark {
	MARK_OK,
	MARK_OPEN, /* no end was seen */
	MARK_FAILED,
	MARK_SIGNAL,
	MARK_LIMIT,   /* timeout, memory, … */
	MARK_NOT_RUN, /* refused, or an error */
	MARK_COUNT_
};

#define SERIES_NONE UINT64_MAX /* not known; no limit */

struct column {
	size_t runs;
	uint64_t low, high; /* SERIES_NONE: not measured */
	uint64_t limit;     /* the one that held last */
	enum mark mark;
	uint64_t time_ms; /* when the last of them began */
};

struct series {
	enum measure measure;
	struct column *columns;
	size_t len;
	size_t runs, known;     /* in all; of which the value is known */
	uint64_t peak, average; /* SERIES_NONE when none is */
	uint64_t limit;         /* today's */
};

/* Today's limits, SERIES_NONE: none. */
struct series_limits {
	uint64_t values[MEASURE_COUNT_];
};

/* Of RECORDS, newest first as the store has them, in at most MAX columns, oldest first. -ENOMEM. */
int series_make(const struct run_record *records, size_t n, enum measure measure, size_t max,
		uint64_t limit, struct series *ret);
void series_release(struct series *series);

const char *measure_name(enum measure measure);
/* "34.1 MiB" or "1.20 s", whichever it is; BUF of UNITS_MAX. */
const char *measure_text(enum measure measure, uint64_t value, char *buf);
/* The same for round numbers, limits and the marks of an axis: "512 MiB", "1.5 s", "2 min". */
const char *measure_round(enum measure measure, uint64_t value, char *buf);
const char *mark_name(enum mark mark);
enum mark mark_of(const struct run_record *record);

/* The axis: from 0 to TOP in STEPs, at most MAX of them. A limit far above every value is off
 * the scale, lest nothing else is seen. */
struct scale {
	uint64_t top, step;
	bool limit_is_off;
};
struct scale scale_make(const struct series *series, unsigned max);
