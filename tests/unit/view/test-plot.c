/* SPDX-License-Identifier: MIT */
/* Pictures of runs: whatever the history holds, every line fits, nothing is lost, and the
 * SVG is well formed and needs nothing else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "tap.h"
#include "view/plot.h"
#include "view/series.h"
#include "view/svg.h"
#include "view/width.h"

#define MIB ((uint64_t)1 << 20)

static const struct series_limits none = {{SERIES_NONE, SERIES_NONE, SERIES_NONE}};
static const struct series_limits some = {{60000, 512 * MIB, 1000}};

enum { ODD = 1, UNKNOWN = 2 };

static struct run_record *make_runs(size_t n, unsigned kind)
{
	struct run_record *records = calloc(n + 1, sizeof(*records));

	if (!records)
		abort();
	for (size_t i = 0; i < n; i++) {
		struct run_record *r = &records[i];

		*r = (struct run_record){
			.started_ms = UINT64_C(1794813600000) - i * 60000,
			.ended = true,
			.timeout_ms = 60000,
			.memory = i < n / 2 ? 512 * MIB : 256 * MIB,
			.cpu_ms = SERIES_NONE,
			.duration_ms = 1000 + i * 37 % 500,
			.usage = {.memory_peak = 100 * MIB + i * 7919 % (50 * MIB),
				  .cpu_ms = kind & UNKNOWN ? USAGE_UNKNOWN : 300 + i * 13 % 200},
		};
		if (kind & ODD && i % 7 == 3) {
			r->outcome = (enum outcome)(i / 7 % 8);
			r->ended = i % 2;
		}
	}
	return records;
}

/* --- characters --- */

static unsigned widest_line(const struct str *text, bool *ret_ascii)
{
	unsigned width = 0, widest = 0;

	*ret_ascii = true;
	for (size_t i = 0; i < text->len;) {
		uint32_t c = 0;
		size_t n = str_utf8_next(text->data + i, text->len - i, &c);

		if (n == 0)
			return 9999;
		*ret_ascii = *ret_ascii && c < 0x80;
		width = c == '\n' ? 0 : width + char_width(c);
		widest = width > widest ? width : widest;
		i += n;
	}
	return widest;
}

static void check_every_width(void)
{
	static const size_t sizes[] = {0, 1, 2, 7, 60, 299, 300, 10000};
	bool quick = getenv("PALE_QUICK") != NULL;

	for (size_t s = 0; s < array_len(sizes); s++) {
		bool fits = true, plain = true;

		for (unsigned kind = 0; kind < 4; kind++) {
			_cleanup_(freep) struct run_record *records = make_runs(sizes[s], kind);

			for (unsigned width = 20; width <= 300;
			     width += quick || sizes[s] > 1000 ? 40 : 1)
				for (unsigned look = 0; look < 2; look++) {
					_cleanup_(str_release) struct str out = {0};
					struct plot_style style = {.width = width, .unicode = look};
					bool ascii = false;

					if (plot_print(records, sizes[s], kind & 1 ? &some : &none,
						       &style, &out) < 0)
						fits = false;
					fits = fits && widest_line(&out, &ascii) <= width;
					plain = plain && (look || ascii);
				}
		}
		tap_ok(fits, "%zu runs: no line is wider than 20 to 300 columns", sizes[s]);
		tap_ok(plain, "%zu runs: without Unicode nothing but ASCII", sizes[s]);
	}
}

static void check_plot(const struct run_record *records, size_t n,
		       const struct series_limits *limits, struct plot_style style,
		       const char *want, const char *name)
{
	_cleanup_(str_release) struct str out = {0};

	plot_print(records, n, limits, &style, &out);
	tap_eq_str(str_text(&out), want, "%s", name);
}

static void check_goldens(void)
{
	const struct run_record runs[] = {
		{.started_ms = 120000,
		 .ended = true,
		 .outcome = OUTCOME_TIMEOUT,
		 .duration_ms = 4000,
		 .timeout_ms = 4000,
		 .memory = SERIES_NONE,
		 .cpu_ms = SERIES_NONE,
		 .usage = {.memory_peak = 64 * MIB, .cpu_ms = USAGE_UNKNOWN}},
		{.started_ms = 60000,
		 .timeout_ms = 4000,
		 .memory = SERIES_NONE,
		 .cpu_ms = SERIES_NONE},
		{.started_ms = 0,
		 .ended = true,
		 .duration_ms = 1000,
		 .timeout_ms = 4000,
		 .memory = SERIES_NONE,
		 .cpu_ms = SERIES_NONE,
		 .usage = {.memory_peak = 16 * MIB, .cpu_ms = USAGE_UNKNOWN}},
	};
	const struct series_limits limits = {{4000, SERIES_NONE, 600000}};
	static const char want[] = "duration: peak 4.00 s, limit 4 s (100% used)\n"
				   "     4 s +--------###-----------------------------\n"
				   "         |        ###\n"
				   "         |        ###\n"
				   "         |...     ###\n"
				   "       0 +###     ###\n"
				   "memory: peak 64 MiB, no limit, average 40 MiB\n"
				   "  64 MiB +        ###\n"
				   "         |        ###\n"
				   "         |        ###\n"
				   "         |...     ###\n"
				   "       0 +###     ###\n"
				   "cpu: not measured, limit 10 min\n"
				   "          .   o   ^\n"
				   ". 1 ok  o 1 no end seen  ^ 1 limit\n"
				   "3 runs, 1970-01-01 00:00 to 1970-01-01 00:02 UTC\n";

	check_plot(runs, 3, &limits, (struct plot_style){.width = 50}, want, "three runs in ASCII");
	check_plot(NULL, 0, &limits, (struct plot_style){.width = 80},
		   "duration: limit 4 s\nmemory: no limit\ncpu: limit 10 min\nno runs yet\n",
		   "no runs");
	check_plot(runs, 1, &none,
		   (struct plot_style){.width = 20, .unicode = true, .colour = true},
		   "duration\n"
		   "     4 s ┤\033[31m███\033[m\n"
		   "         │\033[31m███\033[m\n"
		   "         │\033[31m███\033[m\n"
		   "         │\033[31m███\033[m\n"
		   "       0 ┤\033[31m███\033[m\n"
		   "memory: peak 64 MiB\n"
		   "  64 MiB ┤\033[31m███\033[m\n"
		   "         │\033[31m███\033[m\n"
		   "         │\033[31m███\033[m\n"
		   "         │\033[31m███\033[m\n"
		   "       0 ┤\033[31m███\033[m\n"
		   "cpu: not measured\n"
		   "          \033[31m▲\033[m\n"
		   "▲ 1 limit\n"
		   "1 run, 1970-01-01 00\n",
		   "one run, narrow, in colour");
}

/* --- columns --- */

static void check_columns(void)
{
	for (size_t n = 1; n <= 2000; n = n * 3 + 1)
		for (size_t max = 1; max <= 250; max = max * 2 + 1) {
			_cleanup_(freep) struct run_record *records = make_runs(n, ODD);
			_cleanup_(series_release) struct series series = {0};
			size_t runs = 0, empty = 0, bad = 0, seen_bad = 0;
			uint64_t peak = 0;

			series_make(records, n, MEASURE_MEMORY, max, 1, &series);
			for (size_t i = 0; i < series.len; i++) {
				runs += series.columns[i].runs;
				empty += series.columns[i].runs == 0;
				seen_bad += series.columns[i].mark != MARK_OK;
				if (series.columns[i].high != SERIES_NONE &&
				    series.columns[i].high > peak)
					peak = series.columns[i].high;
			}
			for (size_t i = 0; i < n; i++)
				bad += mark_of(&records[i]) != MARK_OK;
			tap_ok(runs == n && empty == 0 && series.len == (n < max ? n : max) &&
				       peak == (series.peak == SERIES_NONE ? 0 : series.peak) &&
				       (bad > 0) == (seen_bad > 0),
			       "%zu runs in %zu columns: all are there, the peak and the bad ones seen",
			       n, max);
		}
}

static void check_scales(void)
{
	static const uint64_t values[] = {
		0,        1,          999,        1000,           59999,      61000,
		86400000, 1ull << 40, 1ull << 63, UINT64_MAX - 1, SERIES_NONE};

	for (int measure = 0; measure < MEASURE_COUNT_; measure++)
		for (size_t i = 0; i < array_len(values); i++)
			for (size_t k = 0; k < array_len(values); k++) {
				struct series series = {.measure = (enum measure)measure,
							.peak = values[i],
							.limit = values[k]};
				struct scale scale = scale_make(&series, 5);

				if (scale.top % scale.step != 0 || scale.top / scale.step > 5 ||
				    (values[i] < 1ull << 62 && scale.top < values[i]))
					tap_ok(false,
					       "scale of %llu, limit %llu: top %llu, step %llu",
					       (unsigned long long)values[i],
					       (unsigned long long)values[k],
					       (unsigned long long)scale.top,
					       (unsigned long long)scale.step);
			}
	tap_ok(true, "every scale holds its values, in at most five steps");
}

/* --- SVG --- */

/* Tags that open and close as they should; no entity but the five. */
static bool is_well_formed(const char *text)
{
	char stack[32][32];
	unsigned depth = 0;

	for (const char *at = strchr(text, '<'); at; at = strchr(at, '<')) {
		const char *end = strchr(at, '>');
		size_t len = strcspn(at + 1, " />\n");

		if (!end || depth == array_len(stack))
			return false;
		if (at[1] == '/') {
			size_t name = (size_t)(end - at) - 2;

			if (depth == 0 || strlen(stack[--depth]) != name ||
			    memcmp(stack[depth], at + 2, name) != 0)
				return false;
		} else if (end[-1] != '/' && len < sizeof(stack[0])) {
			snprintf(stack[depth++], sizeof(stack[0]), "%.*s", (int)len, at + 1);
		}
		at = end;
	}
	return depth == 0;
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

static void check_svg(size_t n, unsigned kind, const struct series_limits *limits, const char *name)
{
	_cleanup_(freep) struct run_record *records = make_runs(n, kind);
	_cleanup_(str_release) struct str out = {0};
	size_t columns = n < 120 ? n : 120;
	const char *text;

	tap_eq_int(svg_print("a<b>&\"'\033\xff", records, n, limits, &out), 0, "%s: printed", name);
	text = str_text(&out);
	tap_ok(is_well_formed(text) &&
		       str_starts(text, "<svg xmlns=\"http://www.w3.org/2000/svg\""),
	       "%s: well formed", name);
	tap_ok(count(text, "http") == 1 && !strstr(text, "<script") && !strstr(text, "href") &&
		       !strstr(text, "url(") && !strstr(text, "@import") && !strstr(text, " on"),
	       "%s: nothing from elsewhere, no script", name);
	tap_ok(strstr(text, "a&lt;b&gt;&amp;&quot;&#39;\\x1b\\xff") && !strchr(text, '\033') &&
		       !strstr(text, "nan") && !strstr(text, "inf"),
	       "%s: the name is escaped, every number is one", name);
	tap_ok(out.len < 200000, "%s: of bounded size (%zu)", name, out.len);
	tap_eq_int((long long)count(text, "class=\"bar\""),
		   (long long)(columns * (kind & UNKNOWN ? 2 : 3)), "%s: a bar for each", name);
}

int main(void)
{
	check_every_width();
	check_goldens();
	check_columns();
	check_scales();
	check_svg(0, 0, &none, "no runs, no limits");
	check_svg(1, 0, &some, "one run");
	check_svg(50, 0, &none, "50 runs, no limits");
	check_svg(60, UNKNOWN, &some, "60 runs, cpu unknown");
	check_svg(10000, 0, &some, "10 000 runs");
	return tap_done();
}
