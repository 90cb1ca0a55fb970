/* SPDX-License-Identifier: MIT */
#include "view/series.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "view/units.h"

enum { OFF_SCALE = 4 }; /* times the highest value */

const char *measure_name(enum measure measure)
{
	static const char *const names[] = {[MEASURE_DURATION] = "duration",
					    [MEASURE_MEMORY] = "memory",
					    [MEASURE_CPU] = "cpu"};

	return names[measure];
}

const char *measure_text(enum measure measure, uint64_t value, char *buf)
{
	return measure == MEASURE_MEMORY ? units_bytes(value, buf) : units_ms(value, buf);
}

const char *measure_round(enum measure measure, uint64_t value, char *buf)
{
	unsigned long long n = value;

	if (measure == MEASURE_MEMORY || value == SERIES_NONE || value < 1000 || value % 100 != 0)
		return measure_text(measure, value, buf);
	if (n % 3600000 == 0)
		snprintf(buf, UNITS_MAX, "%llu h", n / 3600000);
	else if (n % 60000 == 0)
		snprintf(buf, UNITS_MAX, "%llu min", n / 60000);
	else if (n > 60000)
		return measure_text(measure, value, buf);
	else if (n % 1000 == 0)
		snprintf(buf, UNITS_MAX, "%llu s", n / 1000);
	else
		snprintf(buf, UNITS_MAX, "%llu.%llu s", n / 1000, n % 1000 / 100);
	return buf;
}

const char *mark_name(enum mark mark)
{
	static const char *const names[] = {
		[MARK_OK] = "ok",         [MARK_OPEN] = "no end seen", [MARK_FAILED] = "failed",
		[MARK_SIGNAL] = "signal", [MARK_LIMIT] = "limit",      [MARK_NOT_RUN] = "not run",
	};

	return names[mark];
}

enum mark mark_of(const struct run_record *record)
{
	if (!record->ended)
		return MARK_OPEN;
	switch (record->outcome) {
	case OUTCOME_OK:
		return MARK_OK;
	case OUTCOME_FAILED:
		return MARK_FAILED;
	case OUTCOME_SIGNALED:
		return MARK_SIGNAL;
	case OUTCOME_TIMEOUT:
	case OUTCOME_OOM:
	case OUTCOME_LIMIT:
		return MARK_LIMIT;
	case OUTCOME_REFUSED:
	case OUTCOME_ERROR:
		break;
	}
	return MARK_NOT_RUN;
}

static uint64_t value_of(const struct run_record *record, enum measure measure)
{
	enum mark mark = mark_of(record);

	if (mark == MARK_OPEN || mark == MARK_NOT_RUN)
		return SERIES_NONE;
	if (measure == MEASURE_DURATION)
		return record->duration_ms;
	return measure == MEASURE_MEMORY ? record->usage.memory_peak : record->usage.cpu_ms;
}

static uint64_t limit_of(const struct run_record *record, enum measure measure)
{
	if (measure == MEASURE_DURATION)
		return record->timeout_ms;
	return measure == MEASURE_MEMORY ? record->memory : record->cpu_ms;
}

static void column_add(struct column *column, const struct run_record *record, enum measure measure)
{
	uint64_t value = value_of(record, measure);
	enum mark mark = mark_of(record);

	if (value != SERIES_NONE && (column->high == SERIES_NONE || value > column->high))
		column->high = value;
	if (value < column->low)
		column->low = value;
	column->limit = limit_of(record, measure);
	column->time_ms = record->started_ms;
	column->mark = column->runs == 0 || mark > column->mark ? mark : column->mark;
	column->runs++;
}

static void series_count(struct series *series, const struct run_record *record, double *sum)
{
	uint64_t value = value_of(record, series->measure);

	series->runs++;
	if (value == SERIES_NONE)
		return;
	series->known++;
	*sum += (double)value;
	if (series->peak == SERIES_NONE || value > series->peak)
		series->peak = value;
}

int series_make(const struct run_record *records, size_t n, enum measure measure, size_t max,
		uint64_t limit, struct series *ret)
{
	struct series series = {.measure = measure,
				.len = n < max ? n : max,
				.peak = SERIES_NONE,
				.average = SERIES_NONE,
				.limit = limit};
	double sum = 0;

	series.columns = calloc(series.len ? series.len : 1, sizeof(*series.columns));
	if (!series.columns)
		return -ENOMEM;
	for (size_t i = 0; i < series.len; i++)
		series.columns[i] = (struct column){
			.low = SERIES_NONE, .high = SERIES_NONE, .limit = SERIES_NONE};
	for (size_t i = 0; series.len > 0 && i < n; i++) {
		const struct run_record *record = &records[n - 1 - i];

		column_add(&series.columns[i * series.len / n], record, measure);
		series_count(&series, record, &sum);
	}
	if (series.known > 0)
		series.average = (uint64_t)(sum / (double)series.known);
	*ret = series;
	return 0;
}

void series_release(struct series *series)
{
	free(series->columns);
	*series = (struct series){0};
}

/* Steps that people count in. */
static uint64_t next_step(enum measure measure, uint64_t step)
{
	static const uint64_t ms[] = {
		1,      2,      5,       10,      20,      50,       100,      200,      500,
		1000,   2000,   5000,    10000,   15000,   30000,    60000,    120000,   300000,
		600000, 900000, 1800000, 3600000, 7200000, 10800000, 21600000, 43200000, 86400000};

	if (measure == MEASURE_MEMORY)
		return step ? step * 2 : 1024;
	for (size_t i = 0; i < array_len(ms); i++)
		if (ms[i] > step)
			return ms[i];
	return step * 2;
}

/* MOST, or LIMIT if that is higher and not too high. */
static uint64_t with_limit(uint64_t most, uint64_t peak, uint64_t limit, bool *ret_is_off)
{
	*ret_is_off = limit != SERIES_NONE && peak > 0 && limit / OFF_SCALE > peak;
	return limit == SERIES_NONE || *ret_is_off || limit < most ? most : limit;
}

struct scale scale_make(const struct series *series, unsigned max)
{
	uint64_t peak = series->peak == SERIES_NONE ? 0 : series->peak;
	uint64_t most = peak, bound = (uint64_t)1 << 62;
	struct scale scale = {0};

	for (size_t i = 0; i < series->len; i++)
		most = with_limit(most, peak, series->columns[i].limit, &scale.limit_is_off);
	most = with_limit(most, peak, series->limit, &scale.limit_is_off);
	if (most > bound)
		most = bound;
	do
		scale.step = next_step(series->measure, scale.step);
	while (most / scale.step + (most % scale.step != 0) > max);
	scale.top = (most / scale.step + (most % scale.step != 0)) * scale.step;
	if (scale.top == 0)
		scale.top = scale.step;
	return scale;
}
