/* SPDX-License-Identifier: MIT */
/*
 * record - what the spool says, as lines for spool_append().
 *
 * Four types: `start` before a command is executed, `denied` when something is refused for
 * the first time, `end` after it or when it was refused, `event` for what verbs do. An end
 * says all that a start and what was denied do, so that it stands for itself. Texts that are not UTF-8 stand in hex, under KEY_hex; long ones
 * are cut.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct events;
struct json;
struct plan;
struct run_record;
struct str;
struct violation;
struct violations;

/* Of the texts in a record. */
enum { RECORD_TEXT_MAX = 1024, RECORD_ARGV_MAX = 64 * 1024 };

/* By their numbers; NULL at the end. */
extern const char *const record_causes[];  /* enum violation_cause */
extern const char *const record_weights[]; /* enum violation_weight */

int record_start(const struct run_record *record, struct str *ret_line);
/* PLAN (for what is degraded), EVENTS and VIOLATIONS may be NULL. START: the line that
 * record_start() made of the same record, whose text is used again; or NULL. */
int record_end(const struct run_record *record, uint64_t time_ms, const struct plan *plan,
	       const struct events *events, const struct violations *violations,
	       const struct str *start, struct str *ret_line);

/* NEW, of FOUND, while RUN goes on; its end says it again. */
int record_denied(const char *run, const struct violations *found, const struct violation *new,
		  uint64_t time_ms, struct str *ret_line);

/* What a verb did. */
struct deed {
	const char *id;   /* of the deed: no other has it */
	const char *run;  /* NULL: about no run */
	const char *kind; /* "apply.done" */
	const char *severity;
	const char *dimension; /* NULL */
	const char *code;      /* NULL */
	const char *stage;     /* NULL */
	const char *path;      /* that it is about; NULL */
	const char *where;     /* that is now; NULL */
	uint64_t changes;
	uint64_t time_ms;
};
int record_deed(const struct deed *deed, struct str *ret_line);

/* ARGV as a JSON array for run_record.argv, cut at RECORD_ARGV_MAX; NULL: no memory. */
char *record_argv(char *const *argv);
/* KEY or KEY_hex; nothing for NULL. */
void record_text(struct json *json, const char *key, const char *text);
