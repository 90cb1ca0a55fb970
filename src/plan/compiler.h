/* SPDX-License-Identifier: MIT */
/* compiler - what the parts of plan_compile() share. */
#pragma once
#include "base/str.h"
#include "plan/plan.h"
#include "policy/spec.h"

struct err;
struct host;
struct resolved;
struct site;

struct compiler {
	struct plan *plan;
	const struct resolved *resolved;
	const struct spec *spec;
	const struct host *host;
	const struct site *site;
	dim_set given;       /* held by the sandbox around us */
	dim_set weak;        /* not enforced as asked */
	struct strv missing; /* dimensions that stop the run */
};

/* What this version, or this engine, does not do at all, whoever allows it. */
int judge_refuse(const struct compiler *c, struct err *err);
/* A verdict for each dimension that the spec bounds. -ENOTSUP: one that must
 * hold does not, and nobody allowed it to be degraded. */
int judge(struct compiler *c, struct err *err);
/* A dimension that cannot be held: fatal unless the operator named it. 0 or
 * -ENOMEM. */
int judge_give_up(struct compiler *c, enum dim dim, enum enforcement state, const char *why);
/* The verdicts of the limits, and what holds them. 0 or -ENOMEM. */
int limits_compile(struct compiler *c);
/* Inside of another sandbox: does it hold all that is asked for? Fills c->given. */
bool judge_is_given(struct compiler *c);
int limits_emit(struct compiler *c); /* the operations that they take */

/* Of the engine without namespaces. */
int judge_landlock_refuse(const struct compiler *c, struct err *err);
int judge_landlock(struct compiler *c); /* 0 or -ENOMEM */
