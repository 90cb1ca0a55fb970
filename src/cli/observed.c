/* SPDX-License-Identifier: MIT */
#include "cli/observed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api/context.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/size.h"
#include "cli/common.h"
#include "cli/output.h"
#include "policy/spec.h"
#include "view/plot.h"
#include "view/series.h"
#include "view/svg.h"
#include "view/table.h"
#include "view/units.h"

enum { RUNS_MAX = 20000 };

struct store *observed_open(const struct context *context)
{
	struct store *store = NULL;
	struct store_notes notes = {0};
	struct err err = {0};
	int r = store_open(&context->workspace, &store, &notes, &err);

	if (r < 0 && r != -ENOENT) {
		err_wrap(&err, r, "the history cannot be read");
		report(&err);
	} else if (*notes.text) {
		err_set(&err, ERR_SYSTEM, 0, "%s", notes.text);
		report(&err);
	}
	return r < 0 ? NULL : store;
}

struct run_stats observed_stats(struct store *store, const char *command)
{
	struct run_stats stats = {0};
	struct err err = {0};

	if (!store || !command)
		return stats;
	if (store_stats(store, command, &stats, &err) == 0)
		return stats;
	err_wrap(&err, 0, "the history of '%s'", command);
	report(&err);
	return (struct run_stats){0};
}

/* --- numbers --- */

/* 0 of the store is unknown. */
static uint64_t known(uint64_t peak)
{
	return peak ? peak : UINT64_MAX;
}

/* "34.1 MiB / 512m"; "-" when neither is known. */
static int add_cell(struct table *table, const char *peak, const char *limit)
{
	char text[2 * UNITS_MAX + SIZE_TEXT_MAX];

	if (str_eq(peak, "-") && !limit)
		return table_add(table, NULL);
	snprintf(text, sizeof(text), "%s / %s", peak, limit ? limit : "-");
	return table_add(table, text);
}

static const char *size_limit(uint64_t limit, char buf[SIZE_TEXT_MAX])
{
	return limit == UINT64_MAX ? NULL : size_format(limit, buf);
}

static const char *time_limit(uint64_t limit, char buf[SIZE_TEXT_MAX])
{
	return limit == UINT64_MAX ? NULL : duration_format(limit, buf);
}

int observed_cells(const struct run_stats *stats, const struct spec *spec, struct table *table)
{
	char peak[UNITS_MAX], limit[SIZE_TEXT_MAX], runs[32];
	int r;

	snprintf(runs, sizeof(runs), "%llu", (unsigned long long)stats->runs);
	r = table_add(table, runs);
	if (r == 0)
		r = add_cell(table, units_bytes(known(stats->memory_peak), peak),
			     size_limit(spec->memory, limit));
	if (r == 0)
		r = add_cell(table, units_ms(known(stats->cpu_ms_peak), peak),
			     time_limit(spec->cpu, limit));
	if (r == 0)
		r = table_add(table, stats->successful ? units_ms(stats->duration_ms_average, peak)
						       : NULL);
	if (r == 0)
		r = add_cell(table,
			     stats->successful ? units_ms(stats->duration_ms_longest, peak) : "-",
			     time_limit(spec->timeout, limit));
	return r;
}

static int add_row(struct table *table, const char *name, const char *peak, const char *limit)
{
	int r = table_add(table, name);

	if (r == 0)
		r = table_add(table, peak);
	return r < 0 ? r : table_add(table, limit);
}

int observed_text(const struct run_stats *stats, const struct spec *spec, struct str *out)
{
	static const char *const heads[] = {"OBSERVED", "PEAK", "LIMIT", NULL};
	_cleanup_(table_release) struct table table = {.heads = heads, .columns = 3};
	char text[2 * UNITS_MAX + 32], peak[UNITS_MAX], limit[SIZE_TEXT_MAX], average[UNITS_MAX];
	int r;

	if (stats->runs == 0)
		return str_append(out, "\nno runs are known\n");
	snprintf(text, sizeof(text), "%s (average %s)", units_ms(stats->duration_ms_longest, peak),
		 units_ms(stats->duration_ms_average, average));
	r = add_row(&table, "duration", stats->successful ? text : NULL,
		    time_limit(spec->timeout, limit));
	if (r == 0)
		r = add_row(&table, "memory", units_bytes(known(stats->memory_peak), peak),
			    size_limit(spec->memory, limit));
	if (r == 0)
		r = add_row(&table, "cpu", units_ms(known(stats->cpu_ms_peak), peak),
			    time_limit(spec->cpu, limit));
	if (r == 0)
		r = str_append_char(out, '\n');
	if (r == 0)
		r = table_print(&table, out);
	return r < 0 ? r
		     : str_appendf(out,
				   "\n%llu run%s, %llu ok; peaks are those of runs that were ok\n",
				   (unsigned long long)stats->runs, stats->runs == 1 ? "" : "s",
				   (unsigned long long)stats->successful);
}

static void add_number(struct json *json, const char *key, uint64_t value, bool is_known)
{
	if (is_known)
		json_add_uint(json, key, value);
	else
		json_add_null(json, key);
}

void observed_json(const struct run_stats *stats, struct json *json)
{
	bool ok = stats->successful > 0;

	if (stats->runs == 0) {
		json_add_null(json, "observed");
		return;
	}
	json_begin_object(json, "observed");
	json_add_uint(json, "runs", stats->runs);
	json_add_uint(json, "ok", stats->successful);
	add_number(json, "memory_peak", stats->memory_peak, stats->memory_peak > 0);
	add_number(json, "cpu_ms_peak", stats->cpu_ms_peak, stats->cpu_ms_peak > 0);
	add_number(json, "duration_ms_average", stats->duration_ms_average, ok);
	add_number(json, "duration_ms_longest", stats->duration_ms_longest, ok);
	json_end_object(json);
}

/* --- pictures --- */

void observed_runs_release(struct observed_runs *runs)
{
	run_records_free(runs->records, runs->len);
	*runs = (struct observed_runs){0};
}

int observed_runs(struct store *store, const char *command, struct observed_runs *ret,
		  struct err *err)
{
	struct runs_query query = RUNS_QUERY_ALL;
	struct observed_runs runs = {0};
	size_t kept = 0;
	int r;

	if (!store)
		return 0;
	query.command = command;
	query.max = RUNS_MAX;
	r = store_runs(store, &query, &runs.records, &runs.len, err);
	if (r < 0)
		return r;
	/* A program of that name that was run ad hoc is another thing. */
	for (size_t i = 0; i < runs.len; i++) {
		if (!str_eq(runs.records[i].command, command)) {
			run_record_release(&runs.records[i]);
			continue;
		}
		if (kept != i)
			runs.records[kept] = runs.records[i];
		kept++;
	}
	runs.len = kept;
	*ret = runs;
	return 0;
}

static struct series_limits limits_of(const struct spec *spec)
{
	return (struct series_limits){.values = {
					      [MEASURE_DURATION] = spec->timeout,
					      [MEASURE_MEMORY] = spec->memory,
					      [MEASURE_CPU] = spec->cpu,
				      }};
}

static bool is_utf8_locale(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < array_len(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

int observed_plot(const struct observed_runs *runs, const struct spec *spec, struct str *out)
{
	struct series_limits limits = limits_of(spec);
	struct plot_style style = {
		.width = terminal_columns(STDOUT_FILENO),
		.unicode = isatty(STDOUT_FILENO) && is_utf8_locale(),
		.colour = terminal_has_colour(STDOUT_FILENO),
	};

	return plot_print(runs->records, runs->len, &limits, &style, out);
}

int observed_svg(const char *command, const struct observed_runs *runs, const struct spec *spec,
		 struct str *out)
{
	struct series_limits limits = limits_of(spec);

	return svg_print(command, runs->records, runs->len, &limits, out);
}
