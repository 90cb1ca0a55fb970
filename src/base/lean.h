/* SPDX-License-Identifier: MIT */
/*
 * lean - little memory for who waits for long.
 *
 * A process that stays, and does something now and then, shall not hold what it needed to
 * begin with.
 */
#pragma once
#include <poll.h>

enum { LEAN_AFTER_MS = 500 }; /* without anything to do, as a rule */

/* As poll(2), after letting go of the pages of the program itself, which the kernel brings
 * back as they are needed, and of stack below. */
int lean_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
/* Before anything is allocated: little will be. Only in `pale`, as the next. */
void lean_small_heap(void);
/* Everything that was ever allocated is gone, but for large blocks. Only in `pale`, whose heap
 * this is; else nothing happens. */
void lean_forget_heap(void);
/* What was never given out of the heap takes no memory. */
void lean_trim_heap(void);
