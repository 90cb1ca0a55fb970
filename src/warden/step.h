/* SPDX-License-Identifier: MIT */
/* step - the operations of a plan that a process does to itself. */
#pragma once
#include <stdbool.h>

#include "confine/confine.h"
#include "plan/plan.h"

struct err;
struct landlock;

bool step_is_known(enum op_kind kind);
/* Do it, for good; rules go to LANDLOCK. OP_EVERYWHERE is the caller's, who has a channel. Entering that domain is the command's
 * alone, and so is an observed filter: warden_run() sees to both. */
int step_apply(const struct op *op, const struct landlock *landlock, struct err *err);
/* The seccomp filter among OPS if it is observed, which warden_run() sees to; else NULL. */
const struct op *step_observed(const struct op *ops, size_t len);
unsigned step_seccomp(const struct op *op); /* its SECCOMP_... */
enum seccomp_audience step_audience(const struct op *op);
