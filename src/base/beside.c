/* SPDX-License-Identifier: MIT */
#include "base/beside.h"

#include <errno.h>

void beside_init(struct beside *beside)
{
	beside->on = sched_getaffinity(0, sizeof(beside->all), &beside->all) == 0 &&
		     CPU_COUNT(&beside->all) > 1;
}

void beside_send(const struct beside *beside, pid_t child)
{
	cpu_set_t others = beside->all;
	int here = beside->on ? sched_getcpu() : -1;

	if (here < 0)
		return;
	CPU_CLR(here, &others);
	(void)sched_setaffinity(child, sizeof(others), &others);
}

int beside_return(const struct beside *beside)
{
	if (beside->on && sched_setaffinity(0, sizeof(beside->all), &beside->all) < 0)
		return -errno;
	return 0;
}
