/* SPDX-License-Identifier: MIT */
#include "learn/tighten.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/size.h"
#include "base/str.h"

static uint64_t peak_of(const struct run_stats *stats, enum dim dim)
{
	if (dim == DIM_MEMORY)
		return stats->memory_peak;
	return dim == DIM_CPU ? stats->cpu_ms_peak : stats->duration_ms_longest;
}

void tighten(const struct spec *spec, const struct run_stats *stats, dim_set held,
	     struct tightening *ret)
{
	bool known = false, narrowed = false;

	*ret = (struct tightening){.successful = stats->successful};
	for (size_t i = 0; i < LEARNED_LIMITS; i++) {
		struct tightened *item = &ret->items[i];
		uint64_t limit;

		item->dim = learned_limits[i];
		item->peak = peak_of(stats, item->dim);
		item->before = item->after = *spec_limit_const(spec, item->dim);
		limit = limit_for_peak(item->dim, item->peak);
		known |= item->peak > 0;
		if (stats->successful < TIGHTEN_RUNS_MIN || limit >= item->before)
			continue;
		item->is_unheld = item->before == SPEC_UNLIMITED && !(held & DIM_BIT(item->dim));
		if (item->is_unheld)
			continue;
		item->after = limit;
		narrowed = true;
	}
	if (stats->successful < TIGHTEN_RUNS_MIN)
		ret->verdict = TIGHTEN_FEW_RUNS;
	else if (!known)
		ret->verdict = TIGHTEN_UNKNOWN;
	else
		ret->verdict = narrowed ? TIGHTEN_DONE : TIGHTEN_ENOUGH;
}

int tightening_reason(const struct tightening *tightening, struct str *out)
{
	switch (tightening->verdict) {
	case TIGHTEN_FEW_RUNS:
		return str_appendf(out, "%llu successful run%s; it takes %d",
				   (unsigned long long)tightening->successful,
				   tightening->successful == 1 ? "" : "s", TIGHTEN_RUNS_MIN);
	case TIGHTEN_UNKNOWN:
		return str_append(out, "what its runs used is not known");
	case TIGHTEN_ENOUGH:
		return str_append(out, "its limits are as tight already");
	case TIGHTEN_DONE:
		break;
	}
	return 0;
}

int peak_put(enum dim dim, uint64_t value, struct str *out)
{
	double number = (double)value;

	if (value == 0)
		return str_append(out, "unknown");
	if (dim == DIM_MEMORY && value < 1 << 20)
		return str_appendf(out, "%.0fk", number / 1024);
	if (dim == DIM_MEMORY)
		return str_appendf(out, "%.1fm", number / (1 << 20));
	return value < 10000 ? str_appendf(out, "%.0fms", number)
			     : str_appendf(out, "%.1fs", number / 1000);
}

int limit_put(enum dim dim, uint64_t value, struct str *out)
{
	char buf[SIZE_TEXT_MAX];

	if (value == SPEC_UNLIMITED)
		return str_append(out, "none");
	return str_append(out, dim == DIM_MEMORY ? size_format(value, buf)
						 : duration_format(value, buf));
}

static const char *const verdict_names[] = {
	[TIGHTEN_DONE] = "tightened",
	[TIGHTEN_FEW_RUNS] = "few_runs",
	[TIGHTEN_UNKNOWN] = "unknown",
	[TIGHTEN_ENOUGH] = "tight",
};

static void limit_json(struct json *json, const char *key, enum dim dim, uint64_t value)
{
	_cleanup_(str_release) struct str text = {0};

	if (value == SPEC_UNLIMITED || limit_put(dim, value, &text) < 0)
		json_add_null(json, key);
	else
		json_add_string(json, key, str_text(&text));
}

void tightening_json(const struct tightening *tightening, struct json *json)
{
	json_add_string(json, "verdict", verdict_names[tightening->verdict]);
	json_add_uint(json, "successful_runs", tightening->successful);
	json_begin_array(json, "limits");
	for (size_t i = 0; i < LEARNED_LIMITS; i++) {
		const struct tightened *item = &tightening->items[i];

		json_begin_object(json, NULL);
		json_add_string(json, "dimension", dim_name(item->dim));
		if (item->peak)
			json_add_uint(json, "peak", item->peak);
		else
			json_add_null(json, "peak");
		limit_json(json, "before", item->dim, item->before);
		limit_json(json, "after", item->dim, item->after);
		json_end_object(json);
	}
	json_end_array(json);
}
