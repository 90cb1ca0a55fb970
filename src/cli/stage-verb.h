/* SPDX-License-Identifier: MIT */
/*
 * stage-verb - what diff, review, apply, discard, undo and stages share: how they
 * begin, and how they speak of a change.
 */
#pragma once
#include "cli/common.h"
#include "review/entries.h"
#include "review/staged.h"

struct stage_args {
	const char *values[OPT_COUNT_]; /* as in struct args */
	struct strv hunks, include_protected, take_staged;
	char **operands;
	int len;
};

void stage_args_release(struct stage_args *args);
int stage_args_parse(enum verb_id id, int argc, char **argv, struct stage_args *ret,
		     struct err *err);
/* The arguments, the workspace (what was interrupted is brought to its end, and that is
 * said), the stage, and what is in it. 1: help was printed. */
int stage_verb_begin(enum verb_id id, int argc, char **argv, struct stage_args *args,
		     struct staged *staged, struct err *err);
/* "pale: an apply that was interrupted …", on standard error. */
void say_recovered(const struct recover_report *report);
/* The operands as paths. */
int stage_verb_paths(const struct staged *staged, const struct stage_args *args,
		     struct staged_paths *ret, struct err *err);
/* One line on standard error, "pale: " in front. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "PROTECTED, RUNS LATER: a git hook", or nothing at all. */
int put_flags(struct str *out, unsigned flags, const char *why);
/* "run 4f2c… (make), 3 minutes ago"; nothing when it is not known. */
int put_run(struct str *out, const struct staged *staged, const char *id);
/* "pale VERB OPTION NAME" about something staged, as it can be typed where the user is. OPTION may
 * be NULL. */
int put_command(struct str *out, const struct staged *staged, const char *verb, const char *option,
		const char *name);
/* "3 minutes ago" */
int put_age(struct str *out, struct timespec then);
bool has_terminal(void); /* to ask on */
