/* SPDX-License-Identifier: MIT */
/*
 * run-history - what a run leaves in the spool.
 *
 * Nothing depends on it: what goes wrong is kept in run->history.err, to be said
 * once, and the command runs all the same.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct config;
struct err;
struct json;
struct run;
struct violation;
struct violations;

/* [history] output_keep, in ms. */
uint64_t history_output_keep(const struct config *config);
/* Is this run to be remembered? */
bool run_history_is_on(const struct run *run);
/* The state folder, made if need be: a descriptor or -errno. */
int run_history_make(const struct run *run, struct err *err);
/* Before anything of it is there. run->history.state is open, if it could be. */
void run_history_begin(struct run *run);
/* Before the command may be executed. */
void run_history_start(struct run *run);
/* Something was refused for the first time: it is told at once. */
void run_history_refused(struct run *run, const struct violations *found, struct violation *new);
/* After it, or (FAILED) when nothing was executed. */
void run_history_end(struct run *run, const struct err *failed);
/* "history": null when it is off. */
void run_history_json(const struct run *run, struct json *json);
