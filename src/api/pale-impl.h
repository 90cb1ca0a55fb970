/* SPDX-License-Identifier: MIT */
/* pale-impl - what the parts of the library share. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "pale.h"
#include "policy/spec.h"

struct err;

#define ANNOTATOR_FNS_MAX 16

struct pale_context {
	unsigned refs; /* atomic: ours, and one for each run */
	char *program;
	pthread_mutex_t lock; /* for all below */
	uint64_t events_len;  /* ever recorded */
	uint64_t runs_len;
	struct pale_event events[PALE_EVENTS_MAX];
	struct annotator_fn {
		char name[32];
		pale_annotator_fn *fn;
		void *data;
	} annotators[ANNOTATOR_FNS_MAX];
	size_t annotators_len;
	struct pale_annotation
		*annotations;     /* a ring of PALE_EVENTS_MAX, once there are annotators */
	uint64_t annotations_len; /* ever made */
};

struct pale_spec {
	struct spec spec;
};

/* A `pale` process at work. */
struct started {
	pid_t pid;
	int pidfd;
	int fd; /* our end of the lifeline, where the result arrives */
};
#define STARTED_NONE ((struct started){.pid = -1, .pidfd = -1, .fd = -1})

/* How a job ended, as it says itself. */
struct answer {
	struct str json;
	bool ended;
	bool lost;  /* it was killed, or somebody else was told how it ended */
	int killed; /* the signal that ended the process; 0: none, or not known */
};

/* pale.c */
/* Fill ERROR, which may be NULL. Returns R. */
int give_error(struct pale_error *error, const struct err *err, int r);
/* The caller's request in the shape of this version. */
int request_read(const struct pale_request *request, struct pale_request *ret, struct err *err);

/* pale-events.c */
struct pale_context *context_ref(struct pale_context *context);
/* Returns the number of a new run. */
uint64_t context_begin(struct pale_context *context, uint64_t workspace);
/* Of one run: what happened in it (JSON), and its EXIT, whose kind, number and time are
 * filled here. */
void context_end(struct pale_context *context, struct pale_event exit, const char *json);
/* Record EVENT, and let annotators see it. */
void context_record(struct pale_context *context, struct pale_event event, const char *json);

/* pale-annotate.c */
/* Without the lock. */
void context_annotate(struct pale_context *context, const struct pale_event *event,
		      const char *json);
/* pale-incidents.c */
/* The events that the answer JSON tells of: their kind, dimension, severity and count.
 * Returns how many, at most INCIDENTS_MAX. */
#define INCIDENTS_MAX 64
size_t incidents_read(const char *json, struct pale_event *ret);

/* pale-spec.c */
/* The spec that this process is under. -ENOENT without err: none. */
int current_spec_read(struct spec *ret, struct err *err);
/* What a run of SPEC gets from here: the meet with that. RET is zero. */
int spec_effective(const struct spec *spec, struct spec *ret, struct err *err);

/* pale-launch.c */
/* Start `pale run`; EXPLAIN: print the plan only. */
int launch(const struct pale_context *context, const struct spec *spec,
	   const struct pale_request *request, bool explain, struct started *ret, struct err *err);
/* Take what has arrived. 1: that was all, and the process is reaped; 0: there is
 * more to come. Never blocks for long. */
int started_drain(struct started *job, struct answer *answer);
/* Drain until the end, at most TIMEOUT_MS: -ETIMEDOUT. LOCK, which may be NULL,
 * is held while job and answer are touched. */
int started_wait(struct started *job, struct answer *answer, int timeout_ms, pthread_mutex_t *lock);
/* End it with everything inside; its result still arrives. */
void started_end(const struct started *job);
/* End it, wait for that, and let go of it. */
void started_release(struct started *job, struct answer *answer);
void answer_release(struct answer *answer);
/* "error" of the answer. False: there is none. */
bool answer_error(const struct answer *answer, struct err *ret);
