/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <sys/syscall.h>
#include <unistd.h>

/* To find the kernel's page with the time costs a short run more than it ever saves. */
struct timespec clock_now(clockid_t clock)
{
	struct timespec ts = {0};

	(void)syscall(SYS_clock_gettime, clock, &ts);
	return ts;
}

uint64_t clock_mono_ns(void)
{
	struct timespec ts = clock_now(CLOCK_MONOTONIC);

	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t clock_wall_ms(void)
{
	struct timespec ts = clock_now(CLOCK_REALTIME);

	return (uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / 1000000u;
}
