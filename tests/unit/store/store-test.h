/* SPDX-License-Identifier: MIT */
/* store-test - a state folder of a test's own, and runs that are put into its spool. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "config/workspace.h"
#include "plan/plan.h"
#include "scratch.h"
#include "store/record.h"
#include "store/spool.h"
#include "store/store-impl.h"
#include "tap.h"

static struct workspace workspace;
static int state;
static struct err err;
static struct store_notes notes;

static inline void begin(void)
{
	static char dir[4200];

	scratch_enter();
	snprintf(dir, sizeof(dir), "%s/state", scratch_path);
	workspace = (struct workspace){.state_dir = dir};
	mkdir(dir, 0700);
	state = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = (struct err){0};
}

static inline void end(void)
{
	close(state);
	scratch_leave();
}

static inline struct store *open_store(void)
{
	struct store *store = NULL;
	int r = store_open(&workspace, &store, &notes, &err);

	if (r < 0)
		tap_note("store_open: %d %s", r, err.message);
	return store;
}

/* A run of COMMAND, at a time that the test chooses; with an end or without. */
static inline void put_run(const char *id, const char *command, uint64_t at_ms, bool ended,
			   uint64_t memory)
{
	struct run_record record;
	struct violations violations = {.observed = true};
	struct violation *made;
	struct str start = {0}, stop = {0};
	struct events events = {0};
	struct plan plan = {0};

	run_record_init(&record);
	snprintf(record.id, sizeof(record.id), "%s", id);
	record.started_ms = at_ms;
	record.command = command ? strdup(command) : NULL;
	record.program = strdup("prog");
	record.memory = 1 << 20;
	record_start(&record, &start);
	spool_append(state, &start, &err);
	record.ended = true;
	record.exit_code = 0;
	record.duration_ms = 10;
	record.usage.memory_peak = memory;
	record.usage.cpu_ms = memory / 100;
	violations_add(&violations, "filesystem", "open", "/etc/hosts", 3, &made);
	made->rule = strdup("filesystem = \"readonly\"");
	made->fix = strdup("--write /etc/hosts");
	made->cause = CAUSE_PROTECTED;
	made->weight = VIOLATION_OPTIONAL;
	violations_add(&violations, "filesystem", "open", "/etc/hosts", 4, NULL);
	violations_add(&violations, "network", "connect", "na\xffme:1", 5, NULL);
	events_add_tamper(&events, ".envrc", TAMPER_GONE, NULL, NULL, 3);
	record_end(&record, at_ms + 10, &plan, &events, &violations, &start, &stop);
	if (ended)
		spool_append(state, &stop, &err);
	run_record_release(&record);
	violations_release(&violations);
	events_release(&events);
	str_release(&start);
	str_release(&stop);
}

static inline size_t count_runs(struct store *store, struct runs_query query)
{
	struct run_record *records = NULL;
	size_t len = 0;

	if (store_runs(store, &query, &records, &len, &err) < 0)
		return SIZE_MAX;
	run_records_free(records, len);
	return len;
}

static inline size_t count_all(struct store *store)
{
	return count_runs(store, (struct runs_query)RUNS_QUERY_ALL);
}
