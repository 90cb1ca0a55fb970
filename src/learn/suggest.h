/* SPDX-License-Identifier: MIT */
/*
 * suggest - from what a command did to the sandbox that it needs.
 *
 * Pure: facts about the host come by `look`. What comes out is within the spec of
 * the profiled run, with one exception: a cache, which is a folder of the project's
 * own and shows nothing of the host's. So a suggestion never opens what nobody asked
 * for, whatever the command tried; what was refused is for a person to allow.
 *
 * filesystem   nothing written in the workspace: readonly. Nothing of it left, or
 *              only what tools leave behind (__pycache__ …), and no file written that
 *              was there before: readonly, ephemeral.
 *              Else the folders that were written to, by the rules of group.h:
 *              scoped_write; or workspace_only where they are new, at the top, or
 *              belong to git or to the protected names.
 * paths_*      what was used of the paths that the profiled run had.
 * caches       what was written to a cache in the home.
 * network      none, unless something outside was reached. Through a broker it is known
 *              what: hosts with their ports, ports of the loopback; what it wanted and did
 *              not get is a note. Else connections to the loopback alone are none as well,
 *              for a sandbox has one of its own; `wider` makes it localhost with their ports.
 * limits       by limits.h, over the profiled run and the history together.
 * the rest     as in the profiled run; processes are isolated.
 */
#pragma once
#include <stdbool.h>

#include "base/str.h"
#include "learn/group.h"
#include "policy/spec.h"

struct err;
struct json;
struct profile;
struct run_stats;
struct user;

/* Of [host_groups]: its rules, canonical. */
struct suggest_group {
	const char *name;
	struct strv rules;
};

struct suggest_input {
	const struct spec *asked; /* of the profiled run, with its workspace */
	const struct user *user;
	const struct profile *profile;
	const struct strv *changed; /* absolute paths that were different afterwards */
	struct {
		uint64_t memory_peak, cpu_ms, duration_ms; /* 0: unknown */
	} used;
	const struct run_stats *stats;     /* or NULL */
	dim_set held;                      /* dimensions in which this machine holds a limit */
	const struct strv *env_from_files; /* variables that [sandbox.env] passes; or NULL */
	const struct suggest_group *groups;
	size_t groups_len;
	enum path_type (*look)(const char *path, void *data);
	void *data;
	bool wider; /* after the first one did not do: one step back */
};

struct suggest_line {
	enum dim dim;
	char *value; /* TOML */
	char *why;   /* or NULL: it goes without saying */
};

struct suggestion {
	struct spec spec;
	struct suggest_line lines[DIM_COUNT_]; /* in the order in which they are printed */
	size_t lines_len;
	struct strv notes; /* what was seen and led to no rule */
	bool has_wider;    /* another one would come out with `wider` */
};

int suggest(const struct suggest_input *input, struct suggestion *ret, struct err *err);
void suggestion_release(struct suggestion *suggestion);
/* "[commands.NAME.sandbox]" and a line for each key, with its reason as a comment. */
int suggestion_toml(const struct suggestion *suggestion, const char *name, struct str *out);
/* "spec": {…}, "lines": {KEY: {"value", "why"}}, "notes": […]. Into the object that is open. */
void suggestion_json(const struct suggestion *suggestion, struct json *json);
