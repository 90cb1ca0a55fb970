/* SPDX-License-Identifier: MIT */
/*
 * check-child - one registered command, run by a `pale run` of its own.
 *
 * The result comes back through a socket that is also its lifeline: should we be
 * killed, the run ends. What it prints comes through a pipe, both streams in one.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "api/capture.h"
#include "api/pale-impl.h"
#include "result/result.h"

struct err;

/* The result, as far as it matters here. */
struct check_result {
	enum outcome outcome;
	int status;    /* the exit status of `pale run` */
	int exit_code; /* -1: it did not exit */
	int signal;
	char *limit;          /* the dimension that was reached, or NULL */
	char *message, *hint; /* why it could not be run, or NULL */
	uint64_t duration_ms; /* USAGE_UNKNOWN: it did not run */
	uint64_t memory_peak; /* likewise */
	char *run;            /* its id, or NULL */
	uint64_t refused;     /* attempts that the boundary refused and that may matter */
};

struct check_child {
	char *name;
	struct started job;
	struct answer answer;
	int output; /* -1: none, or at its end */
	struct capture capture;
	struct check_result result; /* once it has ended */
	uint64_t memory;            /* what it uses now; USAGE_UNKNOWN */
	uint64_t told_ns;           /* when it was told to end; 0: not yet */
	unsigned urgency;           /* of that: 0 asked, 1 insisted, 2 killed */
};

#define CHECK_OUTPUT_MAX (512 * 1024) /* of the beginning and of the end, each */

void check_child_init(struct check_child *child, char *name); /* takes NAME over */
void check_child_release(struct check_child *child);          /* ends it, if need be */

/* The `pale` that belongs to this pale-verbs: a new string. */
int check_program(char **ret_program, struct err *err);
/* WORKSPACE: its root. */
int check_child_start(struct check_child *child, const char *program, const char *workspace,
		      struct err *err);
/* Take what it has printed and answered. 1: it has ended, `result` is filled. */
int check_child_step(struct check_child *child);
/* Tell it to end: asked by SIGNAL first; who does not follow is made to. To be called until
 * it has ended. */
void check_child_end(struct check_child *child, int signal, uint64_t now_ns);
/* The next moment at which check_child_end() has something to do. */
uint64_t check_child_due(const struct check_child *child);
