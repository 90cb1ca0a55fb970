/* SPDX-License-Identifier: MIT */
/*
 * violation - something that a command attempted and the boundary refused.
 *
 * Pure data. The same attempt again is counted, not repeated, so that a command
 * in a loop fills no memory. It is evidence for a reader: no verdict rests on it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;

struct violation {
	char dimension[24]; /* of the spec: "filesystem", "network", "nested", … */
	char op[24];        /* "open", "create", "rename", "connect", "unshare", … */
	char *target;       /* a path as the command sees it, "ADDRESS:PORT", or NULL */
	char *rule;         /* what refused it: `filesystem = "readonly"`, "seccomp"; or NULL */
	char *fix;          /* the one line that would allow it; NULL: nothing should */
	uint64_t count;
	uint64_t first_ms, last_ms; /* since the run began */
};

#define VIOLATIONS_MAX       64
#define VIOLATION_TARGET_MAX 4096

struct violations {
	bool observed; /* false: nobody looked, which is not the same as none */
	struct violation *items;
	size_t len;
	uint64_t dropped; /* attempts past VIOLATIONS_MAX different ones */
};

/* Count an attempt; TARGET may be NULL. *ret_new (may be NULL): the entry when it was not
 * there before, so that the caller may fill `rule` and `fix`; else NULL. 0 or -ENOMEM. */
int violations_add(struct violations *violations, const char *dimension, const char *op,
		   const char *target, uint64_t at_ms, struct violation **ret_new);
void violations_release(struct violations *violations);
/* "violations": null when nobody looked, else […]. */
void violations_json(const struct violations *violations, struct json *json);
