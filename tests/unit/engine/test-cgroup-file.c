/* SPDX-License-Identifier: MIT */
#include "engine/cgroup-file.h"

#include <errno.h>
#include <stdint.h>

#include "scratch.h"
#include "tap.h"

int main(void)
{
	uint64_t value = 7;

	scratch_enter();
	scratch_write("number", "4096\n");
	scratch_write("max", "max\n");
	scratch_write("junk", "lots\n");
	scratch_write("events", "low 0\noom 3\noom_kill 2\nlast 9");
	tap_ok(cgroup_file_number(AT_FDCWD, "number", &value) == 0 && value == 4096, "a number");
	tap_ok(cgroup_file_number(AT_FDCWD, "max", &value) == 0 && value == UINT64_MAX,
	       "max is no limit");
	tap_eq_int(cgroup_file_number(AT_FDCWD, "junk", &value), -EINVAL, "junk is no number");
	tap_eq_int(cgroup_file_number(AT_FDCWD, "none", &value), -ENOENT, "no such file");
	tap_ok(cgroup_file_field(AT_FDCWD, "events", "oom_kill", &value) == 0 && value == 2,
	       "a field whose name begins with another's");
	tap_ok(cgroup_file_field(AT_FDCWD, "events", "oom", &value) == 0 && value == 3,
	       "a field whose name another's begins with");
	tap_ok(cgroup_file_field(AT_FDCWD, "events", "last", &value) == 0 && value == 9,
	       "the last line, without its end");
	tap_eq_int(cgroup_file_field(AT_FDCWD, "events", "kill", &value), -ENOENT, "no such field");
	tap_eq_int(cgroup_file_write(AT_FDCWD, "none", "1"), -ENOENT, "no file is made");
	tap_ok(cgroup_file_write(AT_FDCWD, "number", "4097") == 0 &&
		       cgroup_file_number(AT_FDCWD, "number", &value) == 0 && value == 4097,
	       "a written number");
	scratch_leave();
	return tap_done();
}
