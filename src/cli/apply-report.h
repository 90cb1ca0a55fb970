/* SPDX-License-Identifier: MIT */
/* apply-report - how an apply, a discard or an undo went, for people and programs. */
#pragma once
#include "cli/stage-verb.h"

enum apply_deed { DEED_APPLY, DEED_DISCARD, DEED_UNDO };

/* To standard output, and to the history; what was left, and what can be done about it, too. Returns the
 * exit status: 1 when something was left that was asked for. */
int apply_report_print(const struct staged *staged, const struct apply_report *report,
		       enum apply_deed deed, bool json);
