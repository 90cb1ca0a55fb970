/* SPDX-License-Identifier: MIT */
/* What the seccomp filters say of calls that reach other processes; see test-seccomp.c. */
#include <fcntl.h>
#include <sys/resource.h>

#include "tests/unit/confine/judge.h"

static void about_pid(const char *name, long nr, unsigned at)
{
	static const uint64_t others[] = {2, 4711, 0x7fffffff, 0xffffffff, 4711 | HIGH};
	bool good = true, twin = true;
	uint64_t args[6] = {0};

	for (size_t i = 0; i < LEN(others); i++) {
		args[at] = others[i];
		good &= all_say(VISIBLE, REFUSED, name, nr, args);
		twin &= all_say(ISOLATED, ALLOWED, name, nr, args);
	}
	args[at] = 1;
	tap_ok(all_say(ALL, REFUSED, name, nr, args), "%s of PID 1 is refused", name);
	args[at] = 1 | HIGH;
	tap_ok(all_say(ALL, REFUSED, name, nr, args), "and with bits that do not count");
	args[at] = 0;
	tap_ok(good, "%s of another process is refused when visible", name);
	tap_ok(twin, "twin: it is allowed when isolated");
	tap_ok(all_say(ALL, ALLOWED, name, nr, args), "twin: so is %s of oneself", name);
}

static void test_other_processes(void)
{
	const uint64_t limit = 0x7fffdeadbeef;

	about_pid("sched_setscheduler", __NR_sched_setscheduler, 0);
	about_pid("sched_setparam", __NR_sched_setparam, 0);
	about_pid("sched_setattr", __NR_sched_setattr, 0);
	about_pid("sched_setaffinity", __NR_sched_setaffinity, 0);
	about_pid("setpriority", __NR_setpriority, 1);
	about_pid("ioprio_set", __NR_ioprio_set, 1);

	tap_ok(SAY(VISIBLE, REFUSED, prlimit64, 4711, RLIMIT_CPU, limit) &&
		       SAY(VISIBLE, REFUSED, prlimit64, 4711, RLIMIT_CPU, limit, limit) &&
		       SAY(VISIBLE, REFUSED, prlimit64, 1 | HIGH, RLIMIT_AS, 1ull << 32),
	       "prlimit64 of another process is refused when visible");
	tap_ok(SAY(ALONE, ALLOWED, prlimit64, 4711, RLIMIT_CPU, limit), "twin: not when isolated");
	tap_ok(SAY(SHARED, REFUSED, prlimit64, 4711, RLIMIT_CPU, limit) &&
		       SAY(SHARED, REFUSED, prlimit64, 4711 | HIGH, RLIMIT_CPU, limit),
	       "but where several commands are");
	tap_ok(SAY(ALL, REFUSED, prlimit64, 1, RLIMIT_CPU, limit) &&
		       SAY(ALL, REFUSED, prlimit64, 1 | HIGH, RLIMIT_CPU, limit),
	       "and always of PID 1");
	tap_ok(SAY(ALL, ALLOWED, prlimit64, 0, RLIMIT_CPU, limit), "twin: nor of oneself");
	tap_ok(SAY(ALL, ALLOWED, prlimit64, 4711, RLIMIT_CPU, 0, limit), "twin: nor to read it");

	/* "0" is then the caller's uid, and all that runs under it. */
	tap_ok(SAY(ALL, REFUSED, setpriority, PRIO_USER, 0, 19) &&
		       SAY(ALL, REFUSED, setpriority, PRIO_USER | HIGH, 0, 19),
	       "setpriority of the whole user is refused");
	tap_ok(SAY(ALL, REFUSED, ioprio_set, 3, 0, 3 << 13), "and so is ioprio_set");
	tap_ok(SAY(ALL, ALLOWED, setpriority, PRIO_PROCESS, 0, 19) &&
		       SAY(ALL, ALLOWED, setpriority, PRIO_PGRP, 0, 19),
	       "twin: setpriority of oneself or one's group is allowed");
}

static void test_leases(void)
{
	tap_ok(SAY(ALL, REFUSED, fcntl, 3, F_SETLEASE, F_WRLCK) &&
		       SAY(ALL, REFUSED, fcntl, 3, F_SETLEASE | HIGH, F_RDLCK),
	       "a file cannot be leased");
	tap_ok(SAY(ALL, ALLOWED, fcntl, 3, F_GETLEASE) && SAY(ALL, ALLOWED, fcntl, 3, F_SETLK) &&
		       SAY(ALL, ALLOWED, fcntl, 3, F_SETFL, O_NONBLOCK),
	       "twin: but locked");
}

int main(void)
{
	test_other_processes();
	test_leases();
	return tap_done();
}
