/* SPDX-License-Identifier: MIT */
#include "base/quick.h"

#include <sys/resource.h>

#include "base/sys.h"

enum { SLICE_NS = 100000, RESET_ON_FORK = 1 };

void be_quick(void)
{
	struct sys_sched_attr attr = {.size = sizeof(attr),
				      .flags = RESET_ON_FORK,
				      .nice = getpriority(PRIO_PROCESS, 0),
				      .runtime_ns = SLICE_NS};

	(void)sys_sched_setattr(&attr);
}
