/* SPDX-License-Identifier: MIT */
/* limits, tighten: what a limit becomes, and that it never becomes looser. */
#include "learn/tighten.h"

#include "base/cleanup.h"
#include "base/size.h"
#include "base/str.h"
#include "policy/spec.h"
#include "tap.h"

#define EVERYWHERE (DIM_BIT(DIM_MEMORY) | DIM_BIT(DIM_CPU) | DIM_BIT(DIM_TIMEOUT))

static uint64_t number(enum dim dim, const char *text)
{
	uint64_t value = 0;

	if (!text)
		return SPEC_UNLIMITED;
	if (dim == DIM_MEMORY)
		size_parse(text, &value, NULL);
	else
		duration_parse(text, &value, NULL);
	return value;
}

/* Twice or three times, the floor, the step. */
static const struct {
	enum dim dim;
	const char *peak, *limit;
} limits[] = {
	{DIM_MEMORY, "1k", "64m"},      {DIM_MEMORY, "32m", "64m"},
	{DIM_MEMORY, "33m", "80m"},     {DIM_MEMORY, "40m", "80m"},
	{DIM_MEMORY, "100m", "208m"},   {DIM_MEMORY, "127m", "256m"},
	{DIM_MEMORY, "130m", "320m"},   {DIM_MEMORY, "500m", "1g"},
	{DIM_MEMORY, "513m", "1280m"},  {DIM_MEMORY, "3g", "6g"},
	{DIM_MEMORY, "5g", "10g"},      {DIM_MEMORY, "5121m", "11g"},
	{DIM_CPU, "1ms", "5s"},         {DIM_CPU, "2s500ms", "5s"},
	{DIM_CPU, "2501ms", "10s"},     {DIM_CPU, "20s", "40s"},
	{DIM_CPU, "31s", "75s"},        {DIM_CPU, "10m", "20m"},
	{DIM_CPU, "31m", "70m"},        {DIM_TIMEOUT, "1ms", "10s"},
	{DIM_TIMEOUT, "3333ms", "10s"}, {DIM_TIMEOUT, "3334ms", "15s"},
	{DIM_TIMEOUT, "20s", "1m"},     {DIM_TIMEOUT, "21s", "75s"},
	{DIM_TIMEOUT, "2m", "6m"},      {DIM_TIMEOUT, "1h", "3h"},
};

static void test_limits(void)
{
	for (size_t i = 0; i < array_len(limits); i++) {
		enum dim dim = limits[i].dim;
		_cleanup_(str_release) struct str text = {0};

		limit_put(dim, limit_for_peak(dim, number(dim, limits[i].peak)), &text);
		tap_eq_str(str_text(&text), limits[i].limit, "%s: a peak of %s", dim_name(dim),
			   limits[i].peak);
	}
	for (size_t i = 0; i < LEARNED_LIMITS; i++) {
		enum dim dim = learned_limits[i];

		tap_ok(limit_for_peak(dim, 0) == SPEC_UNLIMITED, "%s: an unknown peak: no limit",
		       dim_name(dim));
		tap_ok(limit_for_peak(dim, UINT64_MAX) == SPEC_UNLIMITED &&
			       limit_for_peak(dim, UINT64_MAX / 2) == SPEC_UNLIMITED,
		       "%s: a peak beyond reason: no limit", dim_name(dim));
	}
}

static struct spec spec_with(const char *memory, const char *cpu, const char *timeout)
{
	struct spec spec;

	spec_init_bottom(&spec);
	spec.memory = number(DIM_MEMORY, memory);
	spec.cpu = number(DIM_CPU, cpu);
	spec.timeout = number(DIM_TIMEOUT, timeout);
	return spec;
}

#define MIB 1048576ull

static const struct {
	const char *name;
	struct run_stats stats;
	const char *before[3], *after[3]; /* memory, cpu, timeout */
	enum tighten_verdict verdict;
} cases[] = {
	{"no limits so far",
	 {5, 3, 20 * MIB, 900, 2000, 1500},
	 {NULL, NULL, NULL},
	 {"64m", "5s", "10s"},
	 TIGHTEN_DONE},
	{"looser ones",
	 {3, 3, 200 * MIB, 9000, 60000, 1500},
	 {"2g", "2m", "5m"},
	 {"448m", "20s", "3m"},
	 TIGHTEN_DONE},
	{"some are tight already",
	 {3, 3, 200 * MIB, 9000, 60000, 1500},
	 {"300m", "2m", "1m"},
	 {"300m", "20s", "1m"},
	 TIGHTEN_DONE},
	{"all are",
	 {3, 3, 200 * MIB, 9000, 60000, 1500},
	 {"448m", "20s", "3m"},
	 {"448m", "20s", "3m"},
	 TIGHTEN_ENOUGH},
	{"tighter than the floor",
	 {9, 9, 1 * MIB, 1, 1, 1},
	 {"16m", "1s", "2s"},
	 {"16m", "1s", "2s"},
	 TIGHTEN_ENOUGH},
	{"two successful runs",
	 {7, 2, 20 * MIB, 900, 2000, 1500},
	 {"2g", NULL, NULL},
	 {"2g", NULL, NULL},
	 TIGHTEN_FEW_RUNS},
	{"never run", {0}, {NULL, NULL, NULL}, {NULL, NULL, NULL}, TIGHTEN_FEW_RUNS},
	{"nothing known",
	 {3, 3, 0, 0, 0, 0},
	 {"2g", NULL, NULL},
	 {"2g", NULL, NULL},
	 TIGHTEN_UNKNOWN},
	{"memory is not known",
	 {3, 3, 0, 900, 2000, 1500},
	 {"2g", NULL, NULL},
	 {"2g", "5s", "10s"},
	 TIGHTEN_DONE},
};

static void test_cases(void)
{
	for (size_t i = 0; i < array_len(cases); i++) {
		struct spec spec = spec_with(cases[i].before[0], cases[i].before[1],
					     cases[i].before[2]);
		struct tightening t;
		bool same = true;

		tighten(&spec, &cases[i].stats, EVERYWHERE, &t);
		tap_eq_int(t.verdict, cases[i].verdict, "%s: verdict", cases[i].name);
		for (size_t k = 0; k < LEARNED_LIMITS; k++)
			same = same &&
			       t.items[k].after == number(t.items[k].dim, cases[i].after[k]) &&
			       t.items[k].before == number(t.items[k].dim, cases[i].before[k]);
		tap_ok(same, "%s: before and after", cases[i].name);
	}
}

/* Where a limit cannot be held, none is made; one that is there is narrowed. */
static void test_unheld(void)
{
	const struct run_stats stats = {3, 3, 20 * MIB, 900, 2000, 1500};
	struct spec open = spec_with(NULL, NULL, NULL), bounded = spec_with("2g", NULL, NULL);
	struct tightening t;

	tighten(&open, &stats, DIM_BIT(DIM_TIMEOUT), &t);
	tap_ok(t.items[0].is_unheld && t.items[0].after == SPEC_UNLIMITED,
	       "memory cannot be held: no limit");
	tap_ok(!t.items[2].is_unheld && t.items[2].after == 10000, "timeout can");
	tap_eq_int(t.verdict, TIGHTEN_DONE, "that is something");
	tighten(&bounded, &stats, 0, &t);
	tap_ok(!t.items[0].is_unheld && t.items[0].after == 64 * MIB,
	       "a limit that is there is narrowed anyway");
}

/* Whatever the history says, no limit grows, and none falls below what was used. */
static void test_laws(void)
{
	uint64_t seed = 1, looser = 0, below = 0, moved = 0, again = 0;

	for (int i = 0; i < 20000; i++) {
		struct spec spec;
		struct run_stats stats = {.runs = 9, .successful = 3};
		struct tightening t, second;
		uint64_t random[6];

		for (size_t k = 0; k < 6; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			random[k] = (seed >> 20) >> ((seed >> 8) % 40);
		}
		spec_init_bottom(&spec);
		spec.memory = random[0] + 1;
		spec.cpu = random[1] + 1;
		spec.timeout = i % 3 ? random[2] + 1 : SPEC_UNLIMITED;
		stats.memory_peak = random[3];
		stats.cpu_ms_peak = random[4];
		stats.duration_ms_longest = random[5];
		tighten(&spec, &stats, i % 5 ? EVERYWHERE : 0, &t);
		for (size_t k = 0; k < LEARNED_LIMITS; k++) {
			looser += t.items[k].after > t.items[k].before;
			below += t.items[k].after < t.items[k].before &&
				 t.items[k].after < 2 * t.items[k].peak;
			moved += t.items[k].after < t.items[k].before;
			*spec_limit(&spec, t.items[k].dim) = t.items[k].after;
		}
		tighten(&spec, &stats, i % 5 ? EVERYWHERE : 0, &second);
		again += second.verdict == TIGHTEN_DONE;
	}
	tap_ok(moved > 1000, "generated: %llu limits were narrowed", (unsigned long long)moved);
	tap_eq_int((long long)looser, 0, "generated: none became looser");
	tap_eq_int((long long)below, 0, "generated: none fell below twice the peak");
	tap_eq_int((long long)again, 0, "generated: a second time changes nothing");
}

int main(void)
{
	test_limits();
	test_cases();
	test_unheld();
	test_laws();
	return tap_done();
}
