/* SPDX-License-Identifier: MIT */
/* tree - signals to every descendant, where no pid namespace does it for us. */
#pragma once
#include <stdbool.h>

/* Send SIG to each descendant of this process. Returns how many there were. */
int tree_signal(int sig);
/* SIGKILL and reap until no descendant is left: true. False when one still is
 * after MS milliseconds, which is one that the kernel cannot end. Needs
 * PR_SET_CHILD_SUBREAPER, so that orphans come to us. */
bool tree_kill(unsigned ms);
