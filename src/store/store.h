/* SPDX-License-Identifier: MIT */
/*
 * store - the history of one workspace: runs, events, annotations.
 *
 * SQLite, in the workspace's state folder. Opening it folds what runs have
 * appended to the spool since. For pale-verbs only: the run path knows nothing but
 * spool.h.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "store/run-record.h"

struct err;
struct store;
struct workspace;

/* What could not be done and is no reason to stop: the database was set aside, lines
 * of the spool were, the state is read-only. Empty when all is well. */
struct store_notes {
	char text[512];
};

/* -ENOENT, err untouched: there is no history yet. -EPROTO: a newer pale wrote it, and
 * it is left as it is. */
int store_open(const struct workspace *workspace, struct store **ret_store,
	       struct store_notes *notes, struct err *err);
struct store *store_close(struct store *store); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct store *, store_close);
/* Fold what has come since. 1: the database was replaced, and the other one is open now, whose
 * events are numbered anew. */
int store_refresh(struct store *store, struct err *err);

struct runs_query {
	const char *id;      /* a run's id, or a unique beginning of one */
	const char *command; /* a registered name, or a program's */
	int outcome;         /* enum outcome, or -1 */
	bool unended;        /* only those whose end is not known */
	uint64_t since_ms;   /* 0: ever */
	size_t max;          /* 0: all; the newest come first */
};
#define RUNS_QUERY_ALL                                                                             \
	{                                                                                          \
		.outcome = -1                                                                      \
	}

/* *ret_records: an array of *ret_len; run_records_free(). The newest is the one that
 * was stored last, whatever the clock said. */
int store_runs(struct store *store, const struct runs_query *query, struct run_record **ret_records,
	       size_t *ret_len, struct err *err);
void run_records_free(struct run_record *records, size_t len);

/* The run that WHICH names: an id, the beginning of one, or "last". -ENOENT, -EEXIST
 * (several begin so): err says so. run_record_release(). */
int store_find_run(struct store *store, const char *which, struct run_record *ret, struct err *err);

/* Over the runs of one registered command that were executed and ended. Peaks are 0 when
 * unknown. */
struct run_stats {
	uint64_t runs, successful;
	uint64_t memory_peak, cpu_ms_peak;                 /* over the successful ones */
	uint64_t duration_ms_longest, duration_ms_average; /* likewise */
};
int store_stats(struct store *store, const char *command, struct run_stats *ret, struct err *err);

/* What run ID attempted in vain; violations_release(). */
int store_violations(struct store *store, const char *id, struct violations *ret, struct err *err);

struct store_event {
	int64_t id; /* rises with time */
	char *run;  /* NULL: about no run */
	char *kind; /* "sandbox.denied" */
	char *data; /* a JSON object, or NULL */
	char *severity, *dimension, *code;
	uint64_t time_ms;
};

struct events_query {
	int64_t id;        /* this one alone; 0: any */
	int64_t after;     /* only those with a higher id */
	const char *kind;  /* "sandbox.denied", or "sandbox" for all of them; NULL: any */
	const char *run;   /* a whole id, or NULL */
	uint64_t since_ms; /* 0: ever */
	size_t max;        /* the newest so many; 0: all */
};

/* Oldest first; store_events_free(). */
int store_events(struct store *store, const struct events_query *query, struct store_event **ret,
		 size_t *ret_len, struct err *err);
void store_events_free(struct store_event *events, size_t len);
/* The member KEY of what EVENT is about, also where it is no UTF-8: a new string, or NULL. */
char *store_event_text(const struct store_event *event, const char *key);

/* How often what happened, without saying to whom. */
enum { OUTCOMES_MAX = OUTCOME_ERROR + 1 };
struct store_counts {
	uint64_t runs, unended; /* unended: of these, without a known end */
	uint64_t outcomes[OUTCOMES_MAX];
	uint64_t denied, limits, tampered, applied, discarded, undone;
};
int store_counts(struct store *store, struct store_counts *ret, struct err *err);

/* Remove what began before BEFORE_MS and does not go on, its events and kept output
 * too. DRY: only count. */
int store_prune(struct store *store, uint64_t before_ms, bool dry, uint64_t *ret_runs,
		struct err *err);

/* What it printed, if that was kept: a descriptor or -errno; -ENOENT leaves err. */
int store_output(struct store *store, const char *id, struct err *err);
/* Remove kept output that is older. */
void store_expire_output(struct store *store, uint64_t before_ms);
