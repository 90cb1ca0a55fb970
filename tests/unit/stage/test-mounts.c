/* SPDX-License-Identifier: MIT */
#include "stage/mounts.h"

#include <string.h>

#include "base/str.h"
#include "tap.h"

int main(void)
{
	char text[] = "29 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
		      "30 29 0:25 / /a\\040b\\134c\\012d rw - tmpfs x rw\n"
		      "broken\n"
		      "31 29 0:26 /x /last";
	struct strv points = {0};

	tap_eq_int(mounts_parse(text, &points), 0, "mount points");
	tap_ok(points.len == 3 && strcmp(points.items[0], "/") == 0, "the root");
	tap_ok(points.len == 3 && strcmp(points.items[1], "/a b\\c\nd") == 0, "escaped");
	tap_ok(points.len == 3 && strcmp(points.items[2], "/last") == 0, "a short line");
	strv_release(&points);
	tap_ok(mounts_read(&points, NULL) == 0 && strv_has(&points, "/proc"), "those of here");
	strv_release(&points);
	return tap_done();
}
