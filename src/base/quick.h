/* SPDX-License-Identifier: MIT */
#pragma once

/* For who runs for microseconds, and then at once: where the kernel can (Linux 6.12), a
 * short slice lets a task that wakes up, is new, or moves to a session of its own go ahead of
 * those that compute, however many. No privilege is needed, and no more time is had. Children
 * inherit it; who runs by other rules stays as he is. */
void be_quick(void);

/* Before a program that is not ours: as it was before be_quick(), here or in the process that
 * we were forked from. */
void be_usual(void);
