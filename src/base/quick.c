/* SPDX-License-Identifier: MIT */
#include "base/quick.h"

#include <sched.h>

#include "base/sys.h"

enum { SLICE_NS = 100000 };

static uint64_t usual_ns; /* 0: what the kernel gives to all */

void be_quick(void)
{
	struct sys_sched_attr attr;

	if (sys_sched_getattr(&attr) < 0 || attr.policy != SCHED_OTHER ||
	    attr.runtime_ns == SLICE_NS)
		return;
	usual_ns = attr.runtime_ns;
	attr.runtime_ns = SLICE_NS;
	(void)sys_sched_setattr(&attr);
}

void be_usual(void)
{
	struct sys_sched_attr attr;

	if (sys_sched_getattr(&attr) < 0 || attr.policy != SCHED_OTHER ||
	    attr.runtime_ns != SLICE_NS)
		return;
	attr.runtime_ns = usual_ns;
	(void)sys_sched_setattr(&attr);
}
