/* SPDX-License-Identifier: MIT */
/* local - the backend that is this machine. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct run_ear;
struct plan;
struct profile;
struct result;
struct stdio;

/* As engine_run(), with an observer if the plan has one: ret->violations. PROFILE: what an
 * observer of all uses fills; or NULL. EAR: or NULL. */
int local_run(const struct plan *plan, const struct stdio *stdio, struct profile *profile,
	      const struct run_ear *ear, struct result *ret, struct err *err);
/* As engine_tidy(). */
void local_tidy(void);
/* HELD: nothing is carried between the caller's terminal and the command of local_run(). */
void local_hold(bool held);
/* As engine_try() and engine_find_bwrap(). */
int local_try(const struct plan *plan, struct err *err);
const char *local_find_bwrap(struct err *err);
/* The memory that the processes of a run use now, PID being that of its `pale`; UINT64_MAX: unknown. */
uint64_t local_memory(pid_t pid);
