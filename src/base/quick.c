/* SPDX-License-Identifier: MIT */
#include "base/quick.h"

#include <sched.h>

#include "base/sys.h"

enum { SLICE_NS = 100000, RESET_ON_FORK = 1 };

void be_quick(void)
{
	struct sys_sched_attr attr;

	if (sys_sched_getattr(&attr) < 0 || attr.policy != SCHED_OTHER || attr.nice < 0)
		return;
	attr.flags = RESET_ON_FORK;
	attr.runtime_ns = SLICE_NS;
	(void)sys_sched_setattr(&attr);
}
