/* SPDX-License-Identifier: MIT */
/* contain - what the cloned child does, from first to last. */
#pragma once
#include <stdbool.h>

struct beside;
struct cgroup;
struct plan;
struct stdio;
struct pty;

/* CHANNEL: the warden's end of the pair. CGROUP: joined first. STANDS: no
 * command, but errands. BESIDE: where it was sent to work. Does not return: it becomes the
 * warden, or reports what failed and exits. */
_Noreturn void contain(const struct plan *plan, int channel, const struct stdio *stdio,
		       const struct cgroup *cgroup, const struct pty *pty, bool stands,
		       const struct beside *beside);
