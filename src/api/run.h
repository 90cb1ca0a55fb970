/* SPDX-License-Identifier: MIT */
/*
 * run - the whole path of one execution: context, trust, spec, plan, backend,
 * result.
 */
#pragma once
#include <time.h>

#include "api/context.h"
#include "base/err.h"
#include "base/fd.h"
#include "plan/plan.h"
#include "plan/staging.h"
#include "policy/resolve.h"
#include "result/result.h"
#include "stage/apply.h"

struct asking;
struct json;
struct loop;
struct profile;
struct rules;
struct site;
struct stage;
struct standing;
struct standing_ear;

#define RUN_ID_SIZE 32

enum { TOOL_TIMEOUT_MS = 30000 }; /* of a tool, where nothing else is said */

struct run {
	struct context context;
	struct resolved resolved;
	struct spec outer; /* of the sandbox that we are in, if has_outer */
	bool has_outer;
	bool outer_staged;
	bool no_idmap; /* found out by trying */
	struct plan *plan;
	char id[RUN_ID_SIZE];
	const char *session;        /* that it is a command of, or NULL */
	const struct spec *granted; /* to that session; or NULL */
	const struct rules *rules;  /* of its network, as they are now; or NULL */
	const char *shell;          /* of a line for its shell: "kept", "unchanged"; or NULL */
	struct site *site;          /* kept there, or NULL; see run_request */
	char *command;              /* the registered name, or NULL */
	char *program;              /* of a run that got no plan: base name; else NULL */
	int (*tool)(char *const *argv);
	struct result result;
	struct recover_report recovered;
	struct timespec t0;  /* when it began, by the clock of files */
	struct stage *stage; /* while a staged run goes on */
	struct staging staging;
	unsigned stage_roots[STAGING_MAX]; /* their numbers there, for each of staging's */
	dev_t base_devs[STAGING_MAX];      /* what they are laid over */
	struct run_history {
		int state;               /* its folder; 0: not open, below: it cannot be */
		int *spool;              /* of a session, kept open; NULL: of a single run */
		int living;              /* held while the run goes on */
		int output;              /* a copy of the command's goes here; 0: nowhere */
		bool stored;             /* something was */
		struct str start;        /* the record of the start */
		const struct plan *plan; /* that it is about; compared, not used */
		struct err err;          /* why not all of it */
	} history;
	struct asking *asking; /* NULL: nobody is asked */
	struct run_staged {
		bool is_known;
		uint64_t changes; /* in the whole stage */
		struct err err;   /* what could not be recorded of them */
	} staged;
};

struct run_request {
	const char *workspace; /* --workspace or NULL */
	const char *name;      /* a registered command, or NULL */
	char *const *args;     /* its further arguments, or the command itself; ends in NULL */
	int (*tool)(char *const *argv); /* of our own, called with `args` inside; NULL: a program */
	struct ask ask;
	struct stdio stdio;      /* the command's: 0, 1 and 2 as a rule */
	struct profile *profile; /* filled by a run whose ask says so; or NULL */
	struct site *site;       /* zeroed: gets where it takes place, for the caller; or NULL */
};

/* Everything up to the plan; nothing is executed. RUN is zeroed by the caller
 * and released by run_release() whatever the outcome. */
int run_prepare(struct run *run, const struct run_request *request, struct err *err);
/* Find out which engine would really be used, by trying; run->plan becomes its.
 * For those who show a plan: run_execute() sees for itself. */
int run_settle(struct run *run, struct err *err);
/* Execute it, on the first rung of the ladder that this host lets us use. Fills
 * run->result. */
int run_execute(struct run *run, const struct run_request *request, struct err *err);
/* Once its end is remembered: remove what it has left until then. Before anything is said, which
 * may be the end of us. */
void run_tidy(void);
/* The same without a command: a sandbox that stays, see standing.h. On success it is the
 * caller's to close, and then run_stage_end() ends its stage. */
int run_raise(struct run *run, const struct run_request *request, struct loop *loop,
	      const struct standing_ear *ear, struct standing **ret, struct err *err);
void run_release(struct run *run);
/* A new one, by the clock and by chance. */
int run_make_id(char ret[RUN_ID_SIZE], struct err *err);

/* The result as one JSON object; ERR when it could not be run. */
void run_json(const struct run *run, const struct err *err, struct json *json);
/* Its members that say that nothing was executed, and why. */
void run_error_json(const struct err *err, struct json *json);
enum outcome run_error_outcome(const struct err *err);
/* 125, 126 or 127, from what went wrong. */
int run_error_status(const struct err *err);
