/* SPDX-License-Identifier: MIT */
/*
 * engine - enforces a plan on this machine with the kernel's own interfaces.
 *
 * engine_run() is the supervisor: it clones the warden into new namespaces,
 * passes signals on, ends the run on time, and takes the warden's report.
 */
#pragma once

struct err;
struct plan;
struct result;
struct stdio;

/* Execute PLAN; our own 0, 1 and 2 must be open as well as those of STDIO. ERR is not NULL. 0: the command was executed and *ret is filled.
 * Else nothing was executed and err says why. */
int engine_run(const struct plan *plan, const struct stdio *stdio, struct result *ret,
	       struct err *err);

/* Would it get as far as that? Makes the namespaces of a native PLAN in a child
 * that does nothing in them; looks for bubblewrap and tries it for one of bwrap's.
 * Bounded to a second. */
int engine_try(const struct plan *plan, struct err *err);
/* A bubblewrap that works here, or NULL and why. */
const char *engine_find_bwrap(struct err *err);
