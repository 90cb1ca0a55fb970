/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <time.h>

#include "tap.h"

int main(void)
{
	struct timespec pause = {.tv_nsec = 20000000};
	uint64_t before = clock_mono_ns(), after, wall = clock_wall_ms();
	bool falls = false;

	nanosleep(&pause, NULL);
	after = clock_mono_ns();
	tap_ok(after - before >= 20000000 && after - before < 20000000000,
	       "20 ms take at least 20 ms of monotonic time, and not ages");
	for (int i = 0; i < 10000; i++) {
		uint64_t now = clock_mono_ns();

		falls = falls || now < after;
		after = now;
	}
	tap_ok(!falls, "monotonic time does not fall");
	tap_ok(wall / 1000 <= (uint64_t)time(NULL) && wall / 1000 + 60 > (uint64_t)time(NULL),
	       "wall time is in milliseconds of the epoch");
	return tap_done();
}
