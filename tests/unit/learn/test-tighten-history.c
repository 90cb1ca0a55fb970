/* SPDX-License-Identifier: MIT */
/* tighten over a real store, filled with runs of made-up times and uses. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "config/workspace.h"
#include "learn/tighten.h"
#include "scratch.h"
#include "store/record.h"
#include "store/spool.h"
#include "tap.h"

#define MIB (1ull << 20)
#define DAY (24ull * 3600 * 1000)

static struct workspace workspace;
static int state;
static uint64_t now_ms = 1700000000000ull; /* the clock of this test */
static unsigned serial;

struct use {
	const char *command;
	enum outcome outcome;
	uint64_t memory, cpu_ms, duration_ms;
};

static void put_run(const struct use *use, bool ended)
{
	_cleanup_(str_release) struct str start = {0}, stop = {0};
	struct run_record record;

	run_record_init(&record);
	snprintf(record.id, sizeof(record.id), "%011llx-%010x", (unsigned long long)now_ms,
		 ++serial);
	record.started_ms = now_ms;
	record.command = use->command ? strdup(use->command) : NULL;
	record.program = strdup("sh");
	record_start(&record, &start);
	spool_append(state, &start, NULL);
	record.ended = true;
	record.outcome = use->outcome;
	record.exit_code = use->outcome == OUTCOME_OK ? 0 : 1;
	record.duration_ms = use->duration_ms;
	record.usage = (struct usage){use->memory, use->cpu_ms, 1, 0};
	record_end(&record, now_ms + use->duration_ms, NULL, NULL, NULL, &stop);
	if (ended)
		spool_append(state, &stop, NULL);
	now_ms += DAY;
	run_record_release(&record);
}

static void ask(const char *command, struct tightening *ret)
{
	_cleanup_(store_closep) struct store *store = NULL;
	struct run_stats stats = {0};
	struct store_notes notes = {0};
	struct spec spec;

	spec_init_bottom(&spec);
	if (store_open(&workspace, &store, &notes, NULL) == 0)
		store_stats(store, command, &stats, NULL);
	tighten(&spec, &stats, ~(dim_set)0, ret);
}

static void test_counts(void)
{
	const struct use good = {"test", OUTCOME_OK, 100 * MIB, 4000, 9000};
	const struct use bad = {"test", OUTCOME_FAILED, 900 * MIB, 90000, 90000};
	const struct use killed = {"test", OUTCOME_OOM, 950 * MIB, 90000, 90000};
	const struct use other = {"other", OUTCOME_OK, 800 * MIB, 80000, 80000};
	const struct use nameless = {NULL, OUTCOME_OK, 800 * MIB, 80000, 80000};
	struct tightening t;

	ask("test", &t);
	tap_eq_int(t.verdict, TIGHTEN_FEW_RUNS, "no history");
	put_run(&good, true);
	put_run(&bad, true);
	put_run(&killed, true);
	put_run(&other, true);
	put_run(&nameless, true);
	put_run(&good, true);
	put_run(&good, false);
	ask("test", &t);
	tap_ok(t.verdict == TIGHTEN_FEW_RUNS && t.successful == 2,
	       "two successful runs: others, failed and unended ones do not count");
	now_ms += 400 * DAY;
	put_run(&good, true);
	ask("test", &t);
	tap_ok(t.verdict == TIGHTEN_DONE && t.successful == 3, "the third one, a year later, does");
	tap_eq_int((long long)t.items[0].after, (long long)(208 * MIB),
		   "memory: twice the peak of the successful ones");
	tap_eq_int((long long)t.items[1].after, 10000, "cpu: likewise");
	tap_eq_int((long long)t.items[2].after, 30000, "timeout: three times the longest");
}

static void test_peaks(void)
{
	const struct use small = {"grow", OUTCOME_OK, 10 * MIB, 100, 100};
	const struct use large = {"grow", OUTCOME_OK, 300 * MIB, 20000, 50000};
	struct tightening t;

	put_run(&small, true);
	put_run(&large, true);
	put_run(&small, true);
	ask("grow", &t);
	tap_ok(t.items[0].peak == 300 * MIB && t.items[1].peak == 20000 && t.items[2].peak == 50000,
	       "the peak is that of the largest run, not of the last");
	tap_ok(t.items[0].after == 640 * MIB && t.items[1].after == 40000 &&
		       t.items[2].after == 150000,
	       "and so are the limits");
}

static void test_unknown(void)
{
	const struct use unknown = {"dark", OUTCOME_OK, USAGE_UNKNOWN, USAGE_UNKNOWN, 40};
	struct tightening t;

	for (int i = 0; i < 3; i++)
		put_run(&unknown, true);
	ask("dark", &t);
	tap_ok(t.items[0].peak == 0 && t.items[0].after == SPEC_UNLIMITED,
	       "what is not known is no limit");
	tap_eq_int((long long)t.items[2].after, 10000, "what is known is one");
}

int main(void)
{
	static char dir[4200];

	scratch_enter();
	snprintf(dir, sizeof(dir), "%s/state", scratch_path);
	workspace = (struct workspace){.state_dir = dir};
	mkdir(dir, 0700);
	state = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_counts();
	test_peaks();
	test_unknown();
	close(state);
	scratch_leave();
	return tap_done();
}
