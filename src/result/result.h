/* SPDX-License-Identifier: MIT */
/* result - how a run ended and what it used. Pure data. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "result/event.h"
#include "result/violation.h"

struct json;

enum outcome {
	OUTCOME_OK,
	OUTCOME_FAILED, /* exited with another status than 0 */
	OUTCOME_SIGNALED,
	OUTCOME_TIMEOUT,
	OUTCOME_OOM,
	OUTCOME_LIMIT,
	OUTCOME_REFUSED, /* the policy said no: nothing was executed */
	OUTCOME_ERROR,   /* it could not be run: nothing was executed */
};

enum {
	EXIT_TIMEOUT = 124,
	EXIT_NOT_RUN = 125,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNAL = 128
};

#define USAGE_UNKNOWN UINT64_MAX

struct usage {
	uint64_t memory_peak; /* bytes, the whole tree */
	uint64_t cpu_ms;
	uint64_t pids_peak;
	uint64_t written; /* bytes */
	/* Through the broker; unknown without one. */
	uint64_t connections, net_sent, net_received;
};

/* The network of a run without a broker. */
#define USAGE_NO_NETWORK                                                                           \
	.connections = USAGE_UNKNOWN, .net_sent = USAGE_UNKNOWN, .net_received = USAGE_UNKNOWN

struct result {
	enum outcome outcome;
	int exit_code;         /* the command's, when it exited; else -1 */
	int signal;            /* that ended it, else 0 */
	const char *limit;     /* the dimension that was reached, or NULL */
	const char *net_limit; /* of the network, which ends no run; its key, or NULL */
	uint64_t duration_ms;
	struct usage usage;
	uint64_t output_dropped;      /* bytes past max_output */
	struct events events;         /* events_release() */
	struct violations violations; /* violations_release() */
};

/* "memory_peak":…, …: members of an object, null where unknown. */
void usage_json(const struct usage *usage, struct json *json);
const char *outcome_name(enum outcome outcome);
/* The exit status of pale itself. */
int result_status(const struct result *result);
