/* SPDX-License-Identifier: MIT */
/*
 * terminal - the caller's terminal, and our end of the one that the command has
 * instead.
 *
 * The command never has the caller's: it could change its settings, read what
 * is typed for others and push input into it.
 */
#pragma once
#include <stdbool.h>

#include "base/fd.h"
#include "warden/pty.h"

struct terminal {
	struct pty like; /* the caller's */
	int in, out;     /* it, opened anew; -1 */
	int master;      /* the command's; -1 */
	bool raw;        /* the caller's is in raw mode now */
};

void terminal_init(struct terminal *t);
void terminal_reopen(struct terminal *t, const struct stdio *stdio);
bool terminal_is_foreground(const struct terminal *t);
/* Raw mode, when we are in the foreground: whether we are. */
bool terminal_enter(struct terminal *t);
void terminal_leave(struct terminal *t); /* as it was before */
void terminal_resize(const struct terminal *t);
void terminal_release(struct terminal *t);
