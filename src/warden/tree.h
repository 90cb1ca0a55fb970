/* SPDX-License-Identifier: MIT */
/* tree - signals to every descendant, where no pid namespace does it for us. */
#pragma once

/* Send SIG to each descendant of this process. Returns how many there were. */
int tree_signal(int sig);
/* SIGKILL and reap until no descendant is left, for at most MS milliseconds.
 * Needs PR_SET_CHILD_SUBREAPER, so that orphans come to us. */
void tree_kill(unsigned ms);
