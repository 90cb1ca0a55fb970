/* SPDX-License-Identifier: MIT */
/* contain - what the cloned child does, from first to last. */
#pragma once
#include <stdbool.h>

struct beside;
struct cgroup;
struct plan;
struct pty;
struct stdio;

struct containment {
	const struct plan *plan;
	int channel; /* the warden's end of the pair */
	const struct stdio *stdio;
	const struct cgroup *cgroup; /* joined first, unless it is passed */
	const struct pty *pty;
	const struct beside *beside; /* where it was sent to work */
	bool connects;               /* its network is made meanwhile, and passed */
	bool stands;                 /* no command, but errands */
};

/* Does not return: it becomes the warden, or reports what failed and exits. */
_Noreturn void contain(const struct containment *c);
