/* SPDX-License-Identifier: MIT */
/*
 * cmd-exec-sh - pale-sh: a shell that is inside the boundary.
 *
 * The name of a link to `pale`, for programs that start whatever $SHELL says. What it is given
 * goes to a shell inside as it is; nothing that goes wrong makes it start one outside.
 */
#pragma once
#include <stdbool.h>

/* Was pale called by that name? */
bool is_sh(const char *program);
/* Of the whole command line. Returns the exit status. */
int cmd_sh(int argc, char **argv);
