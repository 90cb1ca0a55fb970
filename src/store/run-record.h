/* SPDX-License-Identifier: MIT */
/*
 * run-record - what the history knows of one run.
 *
 * Pure data. Nothing in it tells what a command was given or said: argv is a
 * digest unless `[history] store_argv` is set, paths are those that were refused.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "result/result.h"

#define RUN_ID_MAX 32

struct run_record {
	char id[RUN_ID_MAX];
	uint64_t started_ms;                 /* since 1970 */
	int pid;                             /* of pale; 0: unknown */
	bool ended;                          /* false: it goes on, or its end was never seen */
	bool living;                         /* not ended, and it goes on */
	char *command;                       /* the registered name; NULL: ad hoc */
	char *program;                       /* base name of argv[0]; NULL: unknown */
	char *argv_digest;                   /* hex */
	char *argv;                          /* a JSON array, with store_argv; else NULL */
	char *engine, *mode, *stage, *world; /* NULL: unknown, or none */
	unsigned ceiling;
	char *spec_digest;
	/* The limits that held, UINT64_MAX: none. */
	uint64_t timeout_ms, cpu_ms, memory, pids;
	/* Valid when it ended. */
	enum outcome outcome;
	char *error;   /* the stable code, when it was not run; else NULL */
	int exit_code; /* -1: it did not exit */
	int signal;
	char *limit;     /* the dimension that was reached */
	char *net_limit; /* of the network, for the event; not read back */
	uint64_t duration_ms;
	struct usage usage;
	bool observed;       /* somebody looked for violations */
	uint64_t violations; /* how many attempts were refused */
	bool has_output;     /* it was kept */
};

/* All unknown: what a reader of records begins with. */
void run_record_init(struct run_record *record);
void run_record_release(struct run_record *record);
/* The outcome, "running" or "unknown", for tables and filters. */
const char *run_record_state(const struct run_record *record);
