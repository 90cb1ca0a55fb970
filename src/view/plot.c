/* SPDX-License-Identifier: MIT */
#include "view/plot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "view/series.h"
#include "view/units.h"

enum { WIDTH_MIN = 20, GUTTER = 10, HEIGHT = 5, CELL_MAX = 4, EIGHTHS = 8 };

#define RED   "\033[31m"
#define DIM   "\033[2m"
#define PLAIN "\033[m"

struct glyphs {
	const char *parts[EIGHTHS + 1]; /* of a cell, filled from below */
	const char *axis, *tick, *limit;
	const char *marks[MARK_COUNT_];
};

static const struct glyphs unicode = {
	.parts = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
	.axis = "│",
	.tick = "┤",
	.limit = "╌",
	.marks = {[MARK_OK] = "·",
		  [MARK_OPEN] = "○",
		  [MARK_FAILED] = "✗",
		  [MARK_SIGNAL] = "◆",
		  [MARK_LIMIT] = "▲",
		  [MARK_NOT_RUN] = "■"},
};

static const struct glyphs ascii = {
	.parts = {" ", ".", ".", ".", ":", ":", ":", "#", "#"},
	.axis = "|",
	.tick = "+",
	.limit = "-",
	.marks = {[MARK_OK] = ".",
		  [MARK_OPEN] = "o",
		  [MARK_FAILED] = "x",
		  [MARK_SIGNAL] = "%",
		  [MARK_LIMIT] = "^",
		  [MARK_NOT_RUN] = "#"},
};

/* The first failed append is the result. */
struct plot {
	struct str *out;
	const struct plot_style *style;
	const struct glyphs *glyphs;
	unsigned width; /* of a line */
	unsigned room;  /* for columns */
	unsigned cell;  /* characters for each of them, a gap included */
	int error;
};

static void put(struct plot *plot, const char *text)
{
	if (plot->error == 0)
		plot->error = str_append(plot->out, text);
}

static void put_colour(struct plot *plot, const char *colour)
{
	if (plot->style->colour)
		put(plot, colour);
}

/* TEXT is ASCII: cut to the width, and the end of the line. */
static void put_line(struct plot *plot, const char *text)
{
	if (plot->error == 0)
		plot->error = str_append_bytes(plot->out, text, strnlen(text, plot->width));
	put(plot, "\n");
}

/* Nothing but blanks at the end of a line is nothing. */
static void end_line(struct plot *plot)
{
	struct str *out = plot->out;

	while (plot->error == 0 && out->len > 0 && out->data[out->len - 1] == ' ')
		str_truncate(out, out->len - 1);
	put(plot, "\n");
}

static void put_gutter(struct plot *plot, const char *label)
{
	if (plot->error == 0)
		plot->error = str_appendf(plot->out, "%*.*s ", GUTTER - 2, GUTTER - 2, label);
	put(plot, *label ? plot->glyphs->tick : plot->glyphs->axis);
}

/* --- one panel --- */

/* What was appended last stays only if the line still fits. */
static void keep_if_fits(const struct plot *plot, struct str *text, size_t *fits)
{
	if (text->len <= plot->width)
		*fits = text->len;
}

/* "memory: peak 34 MiB, limit 512 MiB (7% used), average 30 MiB", as much as fits. */
static void put_title(struct plot *plot, const struct series *series)
{
	bool limited = series->limit != SERIES_NONE && series->limit > 0;
	double used = limited ? (double)series->peak / (double)series->limit * 100 : 0;
	char text[UNITS_MAX];
	_cleanup_(str_release) struct str line = {0};
	size_t fits = strlen(measure_name(series->measure));
	int r = str_appendf(&line, "%s: ", measure_name(series->measure));

	if (r == 0 && series->runs > 0)
		r = series->known ? str_appendf(&line, "peak %s",
						measure_text(series->measure, series->peak, text))
				  : str_append(&line, "not measured");
	keep_if_fits(plot, &line, &fits);
	if (r == 0 && series->runs > 0)
		r = str_append(&line, ", ");
	if (r == 0)
		r = limited ? str_appendf(&line, "limit %s",
					  measure_round(series->measure, series->limit, text))
			    : str_append(&line, "no limit");
	keep_if_fits(plot, &line, &fits);
	if (r == 0 && limited && series->known > 0)
		r = used < 1 ? str_append(&line, " (<1% used)")
			     : str_appendf(&line, " (%.0f%% used)", used);
	keep_if_fits(plot, &line, &fits);
	if (r == 0 && series->known > 1)
		r = str_appendf(&line, ", average %s",
				measure_text(series->measure, series->average, text));
	keep_if_fits(plot, &line, &fits);
	if (r < 0)
		plot->error = r;
	str_truncate(&line, fits);
	put_line(plot, str_text(&line));
}

/* Eighths of ROW (0 is the lowest) that VALUE fills. */
static unsigned fill_of(uint64_t value, const struct scale *scale, unsigned row)
{
	double eighths;

	if (value == SERIES_NONE)
		return 0;
	eighths = (double)value / (double)scale->top * HEIGHT * EIGHTHS;
	/* What is more than nothing is seen. */
	if (row == 0 && value > 0 && eighths < 1)
		return 1;
	eighths -= (double)row * EIGHTHS;
	return eighths <= 0 ? 0 : eighths >= EIGHTHS ? EIGHTHS : (unsigned)(eighths + 0.5);
}

/* The row that the limit goes through, or -1. */
static int limit_row(const struct series *series, const struct scale *scale)
{
	double row;

	if (series->limit == SERIES_NONE || scale->limit_is_off)
		return -1;
	row = (double)series->limit / (double)scale->top * HEIGHT;
	return row >= HEIGHT ? HEIGHT - 1 : (int)row;
}

static void put_cell(struct plot *plot, const struct column *column, unsigned fill,
		     const char *background)
{
	bool bad = column->mark != MARK_OK && column->mark != MARK_OPEN;
	unsigned bar = plot->cell > 1 ? plot->cell - 1 : 1;

	for (unsigned i = 0; i < plot->cell; i++) {
		bool filled = i < bar && fill > 0;

		if (filled && i == 0 && bad)
			put_colour(plot, RED);
		put(plot, filled ? plot->glyphs->parts[fill] : background);
		if (filled && i + 1 == bar && bad)
			put_colour(plot, PLAIN);
	}
}

static void put_row(struct plot *plot, const struct series *series, const struct scale *scale,
		    unsigned row, bool limit)
{
	const char *background = limit ? plot->glyphs->limit : " ";
	unsigned used = (unsigned)series->len * plot->cell;

	for (size_t i = 0; i < series->len; i++)
		put_cell(plot, &series->columns[i], fill_of(series->columns[i].high, scale, row),
			 background);
	for (; limit && used < plot->room; used++)
		put(plot, background);
	end_line(plot);
}

static void put_panel(struct plot *plot, const struct series *series)
{
	struct scale scale = scale_make(series, HEIGHT / 2);
	int limit = limit_row(series, &scale);
	char label[UNITS_MAX];

	put_title(plot, series);
	if (series->known == 0)
		return;
	for (unsigned row = HEIGHT; row-- > 0;) {
		put_gutter(plot, row == HEIGHT - 1
					 ? measure_round(series->measure, scale.top, label)
				 : row == 0 ? "0"
					    : "");
		put_row(plot, series, &scale, row, limit == (int)row);
	}
}

/* --- below the panels --- */

static void put_marks(struct plot *plot, const struct series *series)
{
	if (plot->error == 0)
		plot->error = str_appendf(plot->out, "%*s", GUTTER, "");
	for (size_t i = 0; i < series->len; i++) {
		enum mark mark = series->columns[i].mark;

		if (mark != MARK_OK)
			put_colour(plot, RED);
		put(plot, plot->glyphs->marks[mark]);
		if (mark != MARK_OK)
			put_colour(plot, PLAIN);
		for (unsigned k = 1; k < plot->cell; k++)
			put(plot, " ");
	}
	end_line(plot);
}

static void put_legend(struct plot *plot, const struct run_record *records, size_t n)
{
	size_t counts[MARK_COUNT_] = {0};
	unsigned used = 0;

	for (size_t i = 0; i < n; i++)
		counts[mark_of(&records[i])]++;
	for (int mark = 0; mark < MARK_COUNT_; mark++) {
		char text[64];
		unsigned len;

		if (counts[mark] == 0)
			continue;
		snprintf(text, sizeof(text), " %zu %s", counts[mark], mark_name((enum mark)mark));
		len = (unsigned)strlen(text) + 1;
		if (used > 0)
			put(plot, used + 2 + len > plot->width ? "\n" : "  ");
		used = used > 0 && used + 2 + len <= plot->width ? used + 2 + len : len;
		put(plot, plot->glyphs->marks[mark]);
		put(plot, text);
	}
	put(plot, "\n");
}

static void put_times(struct plot *plot, const struct run_record *records, size_t n, size_t columns)
{
	char first[32] = "", last[32] = "", text[160];
	time_t from = (time_t)(records[n - 1].started_ms / 1000);
	time_t to = (time_t)(records[0].started_ms / 1000);
	struct tm tm;

	if (gmtime_r(&from, &tm))
		strftime(first, sizeof(first), "%Y-%m-%d %H:%M", &tm);
	if (gmtime_r(&to, &tm))
		strftime(last, sizeof(last), "%Y-%m-%d %H:%M", &tm);
	snprintf(text, sizeof(text), "%zu run%s, %s to %s UTC", n, n == 1 ? "" : "s", first, last);
	put_line(plot, text);
	if (n <= columns)
		return;
	snprintf(text, sizeof(text), "a column is up to %zu runs: highest value, worst outcome",
		 (n + columns - 1) / columns);
	put_line(plot, text);
}

int plot_print(const struct run_record *records, size_t n, const struct series_limits *limits,
	       const struct plot_style *style, struct str *out)
{
	struct plot plot = {.out = out,
			    .style = style,
			    .glyphs = style->unicode ? &unicode : &ascii,
			    .width = style->width < WIDTH_MIN ? WIDTH_MIN : style->width};
	size_t columns = 0;

	plot.room = plot.width - GUTTER;
	plot.cell = n == 0 || n >= plot.room ? 1 : plot.room / (unsigned)n;
	plot.cell = plot.cell > CELL_MAX ? CELL_MAX : plot.cell;
	for (int measure = 0; measure < MEASURE_COUNT_ && plot.error == 0; measure++) {
		_cleanup_(series_release) struct series series = {0};

		plot.error = series_make(records, n, (enum measure)measure, plot.room / plot.cell,
					 limits->values[measure], &series);
		if (plot.error == 0)
			put_panel(&plot, &series);
		if (measure == MEASURE_COUNT_ - 1 && n > 0)
			put_marks(&plot, &series);
		columns = series.len;
	}
	if (n == 0)
		put_line(&plot, "no runs yet");
	if (n > 0) {
		put_legend(&plot, records, n);
		put_times(&plot, records, n, columns);
	}
	return plot.error;
}
