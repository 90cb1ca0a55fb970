/* SPDX-License-Identifier: MIT */
#include "view/svg.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "view/series.h"
#include "view/units.h"
#include "view/xml.h"

enum {
	WIDTH = 960,
	LEFT = 86,
	RIGHT = 118, /* for the label of the limit */
	PLOT = WIDTH - LEFT - RIGHT,
	HEAD = 84,
	PANEL = 150,
	GAP = 66, /* between panels; the title of the next is in it */
	FOOT = 78,
	HEIGHT = HEAD + MEASURE_COUNT_ * PANEL + (MEASURE_COUNT_ - 1) * GAP + FOOT,
	COLUMNS = 120,
	TICKS = 5,
	DATES = 5,
	FEW = 60, /* so many columns have a mark each; of more, only those that are not ok */
};

/* The first failed append is the result. */
struct svg {
	struct str *out;
	int error;
};

static void put(struct svg *svg, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct svg *svg, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (svg->error == 0)
		svg->error = str_vappendf(svg->out, fmt, ap);
	va_end(ap);
}

static void put_escaped(struct svg *svg, const char *text)
{
	_cleanup_(str_release) struct str line = {0};

	if (svg->error == 0)
		svg->error = str_append_escaped(&line, text, strlen(text));
	if (svg->error == 0)
		svg->error = xml_append(svg->out, str_text(&line), line.len);
}

/* TEXT is our own. */
static void put_text(struct svg *svg, double x, double y, const char *class, const char *anchor,
		     const char *text)
{
	put(svg, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">%s</text>\n", x, y,
	    class, anchor, text);
}

/* --- the frame --- */

/* Colours that differ for the colour-blind as well; each has enough contrast on its ground.
 * No variables: many programs that draw SVG do not know them. */
static const char style[] =
	"<style>\n"
	"text{font:12px system-ui,'DejaVu Sans',sans-serif;fill:#1b1f24}\n"
	".name{font-size:20px;font-weight:600}.title{font-size:14px;font-weight:600}\n"
	".soft{fill:#57606a}.cap{fill:#a24a06;font-weight:600}\n"
	".ground{fill:#fff}.grid{stroke:#dfe3e8}.axis{stroke:#57606a}.bar{fill:#9ec1e6}\n"
	".limit{stroke:#a24a06;stroke-width:1.5;stroke-dasharray:6 3;fill:none}\n"
	".off{stroke:#a24a06;stroke-width:1.5;stroke-dasharray:1.5 4;fill:none}\n"
	".none{stroke:#57606a;stroke-width:1.5}\n"
	".m0{fill:#0b63b5}.m1{fill:#fff;stroke:#57606a;stroke-width:1.5}\n"
	".m2{fill:none;stroke:#c4162a;stroke-width:2.2}.m3{fill:#7c3aad}.m4{fill:#a24a06}"
	".m5{fill:#1b1f24}\n"
	"@media (prefers-color-scheme:dark){\n"
	"text{fill:#e8ebef}.soft{fill:#a3acb8}.cap{fill:#f0a35e}\n"
	".ground{fill:#14171c}.grid{stroke:#2d333b}.axis{stroke:#a3acb8}.bar{fill:#2f5680}\n"
	".limit,.off{stroke:#f0a35e}.none{stroke:#a3acb8}\n"
	".m0{fill:#74b3f2}.m1{fill:#14171c;stroke:#a3acb8}.m2{stroke:#ff7b86}.m3{fill:#cf9bf5}"
	".m4{fill:#f0a35e}.m5{fill:#e8ebef}\n"
	"}\n"
	"</style>\n";

static void put_head(struct svg *svg, const char *name, const struct run_record *records, size_t n)
{
	char from[32] = "", to[32] = "";
	struct tm tm;

	put(svg,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
	    "height=\"%d\" role=\"img\" aria-labelledby=\"t d\">\n<title id=\"t\">",
	    WIDTH, HEIGHT, WIDTH, HEIGHT);
	put_escaped(svg, name);
	put(svg, ": duration, memory and cpu of %zu run%s</title>\n", n, n == 1 ? "" : "s");
	put(svg, "<desc id=\"d\">Each run's use against the limits that held.</desc>\n%s", style);
	put(svg, "<rect width=\"%d\" height=\"%d\" class=\"ground\"/>\n", WIDTH, HEIGHT);
	put(svg, "<text x=\"24\" y=\"34\" class=\"name\">");
	put_escaped(svg, name);
	put(svg, "</text>\n");
	if (n == 0) {
		put_text(svg, 24, 54, "soft", "start", "no runs yet");
		return;
	}
	if (gmtime_r(&(time_t){(time_t)(records[n - 1].started_ms / 1000)}, &tm))
		strftime(from, sizeof(from), "%Y-%m-%d %H:%M", &tm);
	if (gmtime_r(&(time_t){(time_t)(records[0].started_ms / 1000)}, &tm))
		strftime(to, sizeof(to), "%Y-%m-%d %H:%M", &tm);
	put(svg, "<text x=\"24\" y=\"54\" class=\"soft\">%zu run%s, %s to %s UTC", n,
	    n == 1 ? "" : "s", from, to);
	if (n > COLUMNS)
		put(svg, "; a column is up to %zu runs: highest value, worst outcome",
		    (n + COLUMNS - 1) / COLUMNS);
	put(svg, "</text>\n");
}

/* --- one panel --- */

struct panel {
	struct svg *svg;
	const struct series *series;
	struct scale scale;
	double top, bottom; /* y */
	double step;        /* between two columns */
};

static double x_of(const struct panel *panel, size_t column)
{
	return LEFT + ((double)column + 0.5) * panel->step;
}

static double y_of(const struct panel *panel, uint64_t value)
{
	double part = (double)value / (double)panel->scale.top;

	return panel->bottom - (part > 1 ? 1 : part) * (panel->bottom - panel->top);
}

static void put_title(const struct panel *panel)
{
	const struct series *series = panel->series;
	char peak[UNITS_MAX], average[UNITS_MAX];

	put_text(panel->svg, LEFT, panel->top - 18, "title", "start",
		 measure_name(series->measure));
	if (series->runs == 0)
		return;
	if (series->known == 0) {
		put_text(panel->svg, LEFT + PLOT, panel->top - 18, "soft", "end", "not measured");
		return;
	}
	put(panel->svg,
	    "<text x=\"%d\" y=\"%.1f\" class=\"soft\" text-anchor=\"end\">peak %s, average %s</text>\n",
	    LEFT + PLOT, panel->top - 18, measure_text(series->measure, series->peak, peak),
	    measure_text(series->measure, series->average, average));
}

static void put_axes(const struct panel *panel)
{
	char label[UNITS_MAX];

	for (uint64_t value = 0; value <= panel->scale.top; value += panel->scale.step) {
		double y = y_of(panel, value);

		put(panel->svg,
		    "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", LEFT,
		    LEFT + PLOT, y, y, value == 0 ? "axis" : "grid");
		put_text(panel->svg, LEFT - 8, y + 4, "soft", "end",
			 value == 0 ? "0" : measure_round(panel->series->measure, value, label));
	}
}

static void put_bars(const struct panel *panel)
{
	double width = panel->step * 0.72;

	width = width > 28 ? 28 : width;
	for (size_t i = 0; i < panel->series->len; i++) {
		const struct column *column = &panel->series->columns[i];
		double x = x_of(panel, i), y;

		if (column->high == SERIES_NONE) {
			put(panel->svg,
			    "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"none\"/>\n",
			    x, x, panel->bottom, panel->bottom - 5);
			continue;
		}
		y = y_of(panel, column->high);
		put(panel->svg,
		    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"bar\"/>\n",
		    x - width / 2, y, width, panel->bottom - y);
	}
}

static bool is_drawn(const struct panel *panel, uint64_t limit)
{
	return limit != SERIES_NONE && limit <= panel->scale.top;
}

/* The limits that held, then today's, as one line with steps. */
static void put_limit_line(const struct panel *panel)
{
	const struct series *series = panel->series;
	bool pen = false;

	for (size_t i = 0; i <= series->len; i++) {
		uint64_t limit = i < series->len ? series->columns[i].limit : series->limit;
		double from = LEFT + (double)i * panel->step;
		double to = i < series->len ? from + panel->step : LEFT + PLOT;

		if (!is_drawn(panel, limit)) {
			if (pen)
				put(panel->svg, "\"/>\n");
			pen = false;
			continue;
		}
		put(panel->svg, pen ? " L%.1f %.1f" : "<path class=\"limit\" d=\"M%.1f %.1f", from,
		    y_of(panel, limit));
		put(panel->svg, " H%.1f", to);
		pen = true;
	}
	if (pen)
		put(panel->svg, "\"/>\n");
}

static void put_limit(const struct panel *panel)
{
	const struct series *series = panel->series;
	char label[UNITS_MAX];
	double y = panel->top - 7;

	put_limit_line(panel);
	if (series->limit == SERIES_NONE) {
		put_text(panel->svg, LEFT + PLOT + 8, panel->top + 4, "soft", "start", "no limit");
		return;
	}
	if (panel->scale.limit_is_off)
		put(panel->svg,
		    "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" class=\"off\"/>\n", LEFT,
		    LEFT + PLOT, y, y);
	else
		y = y_of(panel, series->limit);
	put(panel->svg, "<text x=\"%d\" y=\"%.1f\" class=\"cap\">limit %s</text>\n",
	    LEFT + PLOT + 8, y + 4, measure_round(series->measure, series->limit, label));
	if (panel->scale.limit_is_off)
		put_text(panel->svg, LEFT + PLOT + 8, y + 19, "soft", "start", "(off the scale)");
}

/* --- outcomes --- */

/* Around 0,0. */
static const char *const shapes[MARK_COUNT_] = {
	[MARK_OK] = "<circle r=\"3\" class=\"m0\"/>",
	[MARK_OPEN] = "<circle r=\"3.5\" class=\"m1\"/>",
	[MARK_FAILED] = "<path d=\"M-4 -4l8 8m0 -8l-8 8\" class=\"m2\"/>",
	[MARK_SIGNAL] = "<path d=\"M0 -5l5 5l-5 5l-5 -5z\" class=\"m3\"/>",
	[MARK_LIMIT] = "<path d=\"M0 -6l5.5 9.5h-11z\" class=\"m4\"/>",
	[MARK_NOT_RUN] = "<path d=\"M-4 -4h8v8h-8z\" class=\"m5\"/>",
};

/* A pointer over a mark tells what it stands for. */
static void put_mark(const struct panel *panel, size_t index, double size)
{
	const struct series *series = panel->series;
	const struct column *column = &series->columns[index];
	double y = column->high == SERIES_NONE ? panel->bottom - 8 : y_of(panel, column->high);
	time_t when = (time_t)(column->time_ms / 1000);
	char text[32] = "", value[UNITS_MAX];
	struct tm tm;

	if (gmtime_r(&when, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	put(panel->svg, "<g transform=\"translate(%.1f %.1f) scale(%.2g)\">", x_of(panel, index), y,
	    size);
	put(panel->svg, "<title>%s UTC: %s, %s</title>%s</g>\n", text, mark_name(column->mark),
	    measure_text(series->measure, column->high, value), shapes[column->mark]);
}

static void put_marks(const struct panel *panel)
{
	const struct series *series = panel->series;
	bool dense = series->len > FEW;

	for (size_t i = 0; i < series->len; i++) {
		const struct column *column = &series->columns[i];

		if (column->mark != MARK_OK || (!dense && column->high != SERIES_NONE))
			put_mark(panel, i, dense ? 0.7 : 1);
	}
}

static void put_dates(const struct panel *panel)
{
	const struct series *series = panel->series;
	size_t len = series->len, labels = len < DATES ? len : DATES;
	bool days = len > 1 && series->columns[len - 1].time_ms - series->columns[0].time_ms >
				       (uint64_t)3 * 86400 * 1000;

	for (size_t i = 0; i < labels; i++) {
		size_t at = labels > 1 ? i * (len - 1) / (labels - 1) : 0;
		time_t when = (time_t)(series->columns[at].time_ms / 1000);
		double x = x_of(panel, at);
		char text[32] = "";
		struct tm tm;

		if (gmtime_r(&when, &tm))
			strftime(text, sizeof(text), days ? "%Y-%m-%d" : "%m-%d %H:%M", &tm);
		put(panel->svg,
		    "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"axis\"/>\n", x,
		    x, panel->bottom, panel->bottom + 5);
		put_text(panel->svg, x, panel->bottom + 19, "soft", "middle", text);
	}
}

static int put_panel(struct svg *svg, const struct series *series)
{
	double top = HEAD + 20 + (double)series->measure * (PANEL + GAP);
	struct panel panel = {
		.svg = svg,
		.series = series,
		.scale = scale_make(series, TICKS),
		.top = top,
		.bottom = top + PANEL - 20,
		.step = (double)PLOT / (double)(series->len ? series->len : 1),
	};

	/* A few runs stand together at the left instead of far apart. */
	if (panel.step > 60)
		panel.step = 60;
	put_title(&panel);
	put_axes(&panel);
	put_bars(&panel);
	put_limit(&panel);
	put_marks(&panel);
	put_dates(&panel);
	return svg->error;
}

static void put_legend(struct svg *svg, const struct run_record *records, size_t n, bool gaps)
{
	size_t counts[MARK_COUNT_] = {0};
	double x = LEFT, y = HEIGHT - 26;

	for (size_t i = 0; i < n; i++)
		counts[mark_of(&records[i])]++;
	for (int mark = 0; mark < MARK_COUNT_; mark++) {
		char text[64];

		if (counts[mark] == 0)
			continue;
		snprintf(text, sizeof(text), "%zu %s", counts[mark], mark_name((enum mark)mark));
		put(svg, "<g transform=\"translate(%.1f %.1f)\">%s</g>", x + 6, y - 4,
		    shapes[mark]);
		put_text(svg, x + 18, y, "", "start", text);
		x += 40 + 7 * (double)strlen(text);
	}
	put(svg, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"limit\"/>", x,
	    x + 24, y - 4, y - 4);
	put_text(svg, x + 30, y, "", "start", "limit");
	x += 84;
	if (!gaps)
		return;
	put(svg, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"none\"/>", x, x, y,
	    y - 8);
	put_text(svg, x + 8, y, "", "start", "not measured");
}

int svg_print(const char *name, const struct run_record *records, size_t n,
	      const struct series_limits *limits, struct str *out)
{
	struct svg svg = {out, 0};
	bool gaps = false;

	put_head(&svg, name, records, n);
	for (int measure = 0; measure < MEASURE_COUNT_ && svg.error == 0; measure++) {
		_cleanup_(series_release) struct series series = {0};

		svg.error = series_make(records, n, (enum measure)measure, COLUMNS,
					limits->values[measure], &series);
		if (svg.error == 0)
			svg.error = put_panel(&svg, &series);
		for (size_t i = 0; i < series.len; i++)
			gaps |= series.columns[i].high == SERIES_NONE;
	}
	put_legend(&svg, records, n, gaps);
	put(&svg, "</svg>\n");
	return svg.error;
}
