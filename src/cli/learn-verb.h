/* SPDX-License-Identifier: MIT */
/* learn-verb - what profile, suggest and tighten share. */
#pragma once
#include "api/context.h"
#include "cli/common.h"
#include "learn/evidence.h"
#include "policy/resolve.h"

struct run_stats;

/* A command, with the sandbox that it gets. */
struct subject {
	struct context context;
	struct command command; /* `name` is NULL for words after `--` */
	struct strv argv;
	struct resolved resolved;
	char digest[SHA256_HEX];
};

/* NAME, or else ARGS, which ends in NULL. */
int subject_find(const char *workspace, const char *name, char *const *args, const struct ask *ask,
		 struct subject *ret, struct err *err);
void subject_release(struct subject *subject);

/* Rehearse it under its own sandbox. The profile of a named one is kept, unless it teaches
 * nothing: see evidence_is_sound(). */
int subject_profile(const struct subject *subject, struct evidence *ret, struct err *err);
/* "ok", "exit status 2", "signal 9", "timeout" … */
int put_end(const struct evidence *evidence, struct str *out);
/* One line on standard error for each thing that was refused, at most MAX. */
void say_refused(const struct evidence *evidence, size_t max);
/* Its history; all 0 when there is none. What is amiss with the store is said. */
int subject_stats(const struct workspace *workspace, const char *name, struct run_stats *ret,
		  struct err *err);
/* The dimensions in which a limit would hold here, or may be degraded. */
int find_held(const struct context *context, dim_set *ret, struct err *err);
/* Is what the workspace's file asks for now agreed to? Says what to do when not. */
int say_trust(const char *workspace, bool *ret_needed, struct err *err);
/* ERR_CONFIG unless NAME and its sandbox are written in the workspace's file. */
int check_place(const struct config *config, const char *name, struct err *err);
