/* SPDX-License-Identifier: MIT */
/*
 * tree - signals to every descendant, where no pid namespace does it for us.
 *
 * Step by step through /proc, which a flood of new processes can outrun for a
 * while: nothing here takes longer than its time. A process that is enclosed
 * (landlock_enclose()) has kill(-1) instead, which no process can escape.
 */
#pragma once
#include <stdbool.h>

/* Send SIG to each descendant of this process that is met within two seconds.
 * Returns how many there were. */
int tree_signal(int sig);
/* SIGKILL and reap until no descendant is left: true. False when one still is
 * after MS milliseconds, which is one that the kernel cannot end, or a flood.
 * Needs PR_SET_CHILD_SUBREAPER, so that orphans come to us. */
bool tree_kill(unsigned ms, bool enclosed);
