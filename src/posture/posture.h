/* SPDX-License-Identifier: MIT */
/*
 * posture - what would be enforced here, and by what, if a command ran now.
 *
 * Every dimension of the spec is judged: those that the sandbox bounds as a run
 * would judge them, the others as if they had been asked for. Facts are read,
 * plans are compiled; nothing is started, tried or dialled.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "plan/plan.h"
#include "plan/rung.h"
#include "policy/resolve.h"
#include "policy/trust.h"
#include "posture/facts.h"

struct context;
struct host;

struct posture_dim {
	bool asked;             /* the sandbox bounds it */
	bool refused;           /* who asks for it is refused, whatever they allow */
	enum enforcement state; /* unless refused */
	char by[256];           /* by what, or why not */
};

struct posture_backend {
	const char *name;
	bool ready;
	bool background; /* commands that go on after the caller has left */
	char reason[256];
};
#define POSTURE_BACKENDS_MAX 4

struct posture {
	struct facts facts;
	enum promise userns;
	const char *userns_why;
	int landlock_abi;
	enum rung rung;
	enum trust_state trust;
	struct resolved resolved;
	enum engine engine;
	bool is_inside;    /* of a sandbox of pale's, which no run exceeds */
	const char *world; /* of what is enforced; NULL: nothing would run */
	unsigned ceiling;
	bool refused; /* nothing would run, and why */
	struct err refusal;
	struct posture_dim dims[DIM_COUNT_];
	struct posture_backend backends[POSTURE_BACKENDS_MAX];
	size_t backends_len;
};

/* HOST as FACTS suggest it: whether namespaces are refused, and what is left. */
int posture_adapt_host(const struct facts *facts, struct host *host, struct err *err);
/* A refusal is part of the posture and no error. *RET borrows from CONTEXT. */
int posture_compute(const struct context *context, const struct ask *ask, const struct facts *facts,
		    const struct host *host, struct posture *ret, struct err *err);
/* Both on this machine. */
int posture_probe(const struct context *context, const struct ask *ask, struct posture *ret,
		  struct err *err);
void posture_release(struct posture *posture);
