/* SPDX-License-Identifier: MIT */
#pragma once

/* For who runs for microseconds, and then at once: where the kernel can (Linux 6.12), a
 * short slice lets a task that wakes up go ahead of those that compute, however many. No
 * privilege is needed, and no more time is had. Children do not inherit it. Who runs by other
 * rules, or before others, stays as he is: children would not inherit that either. */
void be_quick(void);
