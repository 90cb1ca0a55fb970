/* SPDX-License-Identifier: MIT */
/* why - one run of the history, explained: what `why` shows and `allow` acts on. */
#pragma once
#include "api/context.h"
#include "api/explain.h"
#include "base/err.h"
#include "policy/resolve.h"
#include "store/run-record.h"

struct why {
	struct context context; /* its config is empty when it could not be loaded */
	struct run_record record;
	struct explanation explanation;
	struct str annotations; /* what annotators said of it, for people */
	struct err config_err;  /* why there is none */
};

/* RUN: an id or its beginning; NULL: the last one. The configuration may be broken:
 * that may be what is to be explained. */
int why_load(const char *workspace, const char *run, struct why *ret, struct err *err);
void why_release(struct why *why);
