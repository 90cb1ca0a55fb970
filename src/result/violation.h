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

/* Which part of the boundary refused it. */
enum violation_cause {
	CAUSE_READONLY,  /* the place is there, and cannot be written */
	CAUSE_HIDDEN,    /* the host has it, the sandbox has not */
	CAUSE_PROTECTED, /* a name in a writable place that is mounted over: it can go nowhere */
	CAUSE_NETWORK,   /* no way leads there */
	CAUSE_SECCOMP,   /* the system call as such, whatever it is about */
};

/* How much it tells about a run that failed. */
enum violation_weight {
	VIOLATION_PLAIN,
	VIOLATION_OPTIONAL, /* as a rule programs do without: a cause if there is no other */
	VIOLATION_PROBE,    /* programs try that as a matter of course: no cause */
};

struct violation {
	char dimension[24]; /* of the spec: "filesystem", "network", "nested", … */
	char op[24];        /* "open", "create", "rename", "connect", "unshare", … */
	char *target;  /* a path as the command sees it, "NAME:PORT", "ADDRESS:PORT", or NULL */
	char *program; /* base name of who attempted it first; NULL: unknown */
	char *name;    /* of the network: the host's; NULL: an address was given, or none */
	char *address; /* … where that leads, or the literal; NULL: unknown */
	unsigned port; /* … 0: unknown */
	char *rule;    /* what refused it: `filesystem = "readonly"`, "seccomp"; or NULL */
	char *fix;     /* the one line that would allow it; NULL: nothing should */
	enum violation_cause cause;
	enum violation_weight weight;
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
/* Whom it was about, and by whom; each may be NULL. Without memory something is missing. */
void violation_set_peer(struct violation *violation, const char *program, const char *name,
			const char *address, unsigned port);
/* The likely causes of a run's failure, the likeliest first: what was attempted last, before
 * what is optional; no probes. Writes at most MAX of them to RET; returns how many there are. */
size_t violations_rank(const struct violations *violations, const struct violation **ret,
		       size_t max);
/* What to say behind FIX, which would allow it, where a part of that is a guess; or "". */
const char *violation_guess(const char *dimension, const char *op, const char *fix);
void violations_release(struct violations *violations);
/* "violations": null when nobody looked, else […], and how many attempts found no room. */
void violations_json(const struct violations *violations, struct json *json);
