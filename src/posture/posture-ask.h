/* SPDX-License-Identifier: MIT */
/*
 * posture-ask - one question to plan_compile() for each dimension: what would
 * become of it?
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "plan/host.h"
#include "plan/plan.h"
#include "policy/resolve.h"

struct context;
struct posture_dim;

struct asker {
	const struct context *context;
	const struct host *host;
	const struct resolved *resolved;
	/* The rest is asker_init()'s. */
	struct site site;
	struct site_path *paths; /* the site's, and one that samples name */
	struct plan *plan;       /* with everything allowed; NULL: refused all the same */
	struct err misfit;       /* a path of the spec cannot be used */
	struct err no_site;      /* the workspace cannot be used at all */
	bool fits, has_site;     /* neither is the case */
};

int asker_init(struct asker *asker); /* 0 or -ENOMEM */
void asker_release(struct asker *asker);
/* As a run would get it. */
int asker_plan(struct asker *asker, struct plan **ret_plan, struct err *err);
/* Could the tightest sandbox run here? */
int asker_least(struct asker *asker, struct err *err);
int asker_ask(struct asker *asker, enum dim dim, struct posture_dim *ret); /* 0 or -ENOMEM */
