/* SPDX-License-Identifier: MIT */
#include "session/fingerprint.h"

#include "tap.h"

/* Files bear the time at which the kernel's clock ticked last: two changes within a tick bear the
 * same. */
static void a_tick_tells_nothing_apart(void)
{
	static char name[] = "/x";
	struct fingerprint print = {
		.files[2] = {.path = name, .ino = 1, .ctime = {.tv_sec = 5, .tv_nsec = 4000000}}};

	tap_ok(!fingerprint_newer(&print, (struct timespec){5, 4000001}), "before");
	tap_ok(fingerprint_newer(&print, (struct timespec){5, 4000000}) == name,
	       "at the same tick");
	tap_ok(fingerprint_newer(&print, (struct timespec){5, 3999999}) == name, "after");
	tap_ok(fingerprint_newer(&print, (struct timespec){4, 9000000}) == name, "a second later");
	tap_ok(!fingerprint_newer(&print, (struct timespec){6, 0}), "a second before");
}

int main(void)
{
	a_tick_tells_nothing_apart();
	return tap_done();
}
