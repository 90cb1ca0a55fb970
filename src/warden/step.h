/* SPDX-License-Identifier: MIT */
/* step - the operations of a plan that a process does to itself. */
#pragma once
#include <stdbool.h>

#include "plan/plan.h"

struct err;
struct landlock;

bool step_is_known(enum op_kind kind);
/* Do it, for good; rules go to LANDLOCK. Entering that domain is the command's
 * alone, and warden_run() sees to it. */
int step_apply(const struct op *op, const struct landlock *landlock, struct err *err);
