/* SPDX-License-Identifier: MIT */
/*
 * observer - looks at what a command attempts, while the kernel decides.
 *
 * The command's filter tells of calls that would change something or reach somebody,
 * and of those that it refuses (tools/seccomp-gen.c). The observer answers each at
 * once: what the plain filter allows goes on, what it refuses is refused, and neither
 * depends on anything but registers. Then it finds out whether the boundary stood in
 * the way, and counts. A hostile command can blur what is seen, and gains nothing.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "observe/brokered.h"
#include "observe/verdict.h"
#include "result/violation.h"

struct plan;
struct profile;
struct refusal;

struct observer {
	struct scene scene;
	unsigned variant; /* SECCOMP_..., whose answers are given */
	bool nested;      /* a task may have another root */
	unsigned failed;  /* how often in a row the listener did */
	int listener;     /* borrowed; -1: none came */
	int mounts;       /* the sandbox's: as long as it is open they stay; -1 */
	uint64_t begin_ns;
	struct violations *found;
	struct violations missing; /* hidden, if the host has them: known at the end */
	struct profile *profile;   /* NULL: only attempts */
	bool has_begun;            /* something was executed */
	bool has_program;          /* … and of the first program it is known which */
	pid_t caller;              /* of the call at hand */
	struct brokered brokered;  /* its broker is set before the command begins */
	/* Something new was found. NULL: of no interest before the end. */
	void (*noted)(void *data, struct violations *found, struct violation *new);
	void *data;
};

/* FOUND gets what was refused, PROFILE (or NULL) all that was used. */
void observer_init(struct observer *o, const struct plan *plan, struct violations *found,
		   struct profile *profile);
/* Its command is about to begin. */
void observer_begin(struct observer *o, int listener);
/* Answer what waits, but return soon. False: the listener fails, again and again. */
bool observer_serve(struct observer *o);
/* What a broker has to say: about one of its calls, or about nobody's in particular. */
void observer_refused(struct observer *o, const struct refusal *refusal);
void observer_reached(struct observer *o, const char *name, const struct endpoint *to);
/* The run has ended; what it left behind may still be served. */
void observer_finish(struct observer *o);
/* For brokered.c. False when the caller is gone, and with it what was read of its memory. */
bool observer_answer(struct observer *o, uint64_t id, int error);
