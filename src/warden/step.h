/* SPDX-License-Identifier: MIT */
/* step - the operations of a plan that a process does to itself. */
#pragma once
#include <stdbool.h>

#include "plan/plan.h"

struct err;

bool step_is_known(enum op_kind kind);
/* Do it, for good. OP_SIGNAL_SCOPE does nothing here: it is the command's alone,
 * and warden_run() sees to it. */
int step_apply(const struct op *op, struct err *err);
