/* SPDX-License-Identifier: MIT */
/*
 * explain - why a run ended as it did: in plain words, most likely cause first.
 *
 * Out of what the history has: how it ended, and what it attempted in vain. What was
 * never seen is said, not guessed.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "policy/remedy.h"
#include "result/violation.h"

struct err;
struct json;
struct run_record;
struct user;

/* One thing that was refused, or a limit that was reached. */
struct cause {
	char dimension[24], op[24];
	char *target; /* NULL: none */
	char *what;   /* "write to /etc/hosts" */
	char *rule;   /* what refused it; NULL: unknown */
	uint64_t count;
	char *fix;            /* options of `pale run`; NULL: none */
	struct remedy remedy; /* under the policy of today */
};

struct explanation {
	char *how;            /* one sentence: how it ended */
	char *hint;           /* what to do about it; NULL: nothing, or see the causes */
	struct cause *causes; /* numbered from 1 for the user */
	size_t len;
	bool observed;
	uint64_t dropped;  /* attempts that found no room */
	struct strv notes; /* further sentences: degraded, tampered with */
};

/* SPEC is what the command's policy says today; NULL: unknown, there are no remedies
 * then. What programs merely probe for is no cause. */
int explain_run(const struct run_record *record, const struct violations *violations,
		const struct spec *spec, const struct user *user, struct explanation *ret,
		struct err *err);
void explanation_release(struct explanation *explanation);
/* Members of an open object. */
void explanation_json(const struct explanation *explanation, struct json *json);
