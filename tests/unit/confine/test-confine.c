/* SPDX-License-Identifier: MIT */
/* Each step is tried in a process of its own: none can be taken back. */
#include "confine/confine.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/sys.h"
#include "tap.h"

enum { PASS = 0, FAIL = 1, SKIP = 77 };

static void check(int (*body)(void), const char *what)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		abort();
	if (pid == 0)
		_exit(body());
	if (waitpid(pid, &status, 0) != pid)
		abort();
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIP)
		tap_skip("%s: not possible here", what);
	else
		tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == PASS, "%s", what);
}

static int no_core(void)
{
	struct rlimit limit;
	rlim_t least;

	if (getrlimit(RLIMIT_CORE, &limit) < 0)
		return FAIL;
	least = limit.rlim_max > 0; /* 1 is less than 0: see confine.c */
	if (confine_no_core(NULL) < 0 || getrlimit(RLIMIT_CORE, &limit) < 0)
		return FAIL;
	return limit.rlim_cur == least && limit.rlim_max == least ? PASS : FAIL;
}

static int no_priority(void)
{
	struct rlimit realtime, nice;

	if (confine_no_priority(NULL) < 0 || getrlimit(RLIMIT_RTPRIO, &realtime) < 0 ||
	    getrlimit(RLIMIT_NICE, &nice) < 0)
		return FAIL;
	return realtime.rlim_max == 0 && nice.rlim_max == 0 ? PASS : FAIL;
}

static int no_new_privs(void)
{
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return SKIP;
	if (confine_no_new_privs(NULL) < 0)
		return FAIL;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? PASS : FAIL;
}

static int drop_caps(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	/* An ordinary user has capabilities to lose in a namespace of its own. */
	if (geteuid() != 0 && unshare(CLONE_NEWUSER) < 0)
		return SKIP;
	if (prctl(PR_CAPBSET_READ, CAP_SETPCAP, 0, 0, 0) != 1)
		return SKIP;
	if (confine_drop_caps(NULL) < 0 || syscall(SYS_capget, &header, data) < 0)
		return FAIL;
	for (int i = 0; i < 2; i++)
		if (data[i].effective || data[i].permitted || data[i].inheritable)
			return FAIL;
	for (unsigned long cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
			return FAIL;
	/* uid 0 is nothing special any more, and that cannot be undone. */
	if (prctl(PR_SET_SECUREBITS, 0, 0, 0, 0) == 0)
		return FAIL;
	return prctl(PR_GET_SECUREBITS) & SECBIT_NOROOT_LOCKED ? PASS : FAIL;
}

static int clear_caps_without_right(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (geteuid() == 0 && (setresgid(1, 1, 1) < 0 || setresuid(1, 1, 1) < 0))
		return SKIP;
	if (confine_clear_caps(NULL) < 0 || syscall(SYS_capget, &header, data) < 0)
		return FAIL;
	return data[0].permitted || data[1].permitted ? FAIL : PASS;
}

static int drop_caps_without_right(void)
{
	struct err err = {0};

	if (geteuid() == 0 && (setresgid(1, 1, 1) < 0 || setresuid(1, 1, 1) < 0))
		return SKIP;
	return confine_drop_caps(&err) == -EPERM && err.message[0] ? PASS : FAIL;
}

static int fresh_keyring(void)
{
	struct err err = {0};
	int r = confine_fresh_keyring(&err);

	/* Container managers deny keyctl() as a whole. */
	return r == -EPERM || r == -EACCES ? SKIP : r == 0 ? PASS : FAIL;
}

int main(void)
{
	if (tap_on_valgrind()) {
		tap_ok(true, "nothing: valgrind does not know these calls");
		return tap_done();
	}
	check(no_core, "core dumps are off, for good");
	check(no_priority, "priorities that a limit allows are gone");
	check(no_new_privs, "no_new_privs is set");
	check(drop_caps, "every capability is gone from every set");
	check(drop_caps_without_right, "what cannot be dropped is an error");
	check(clear_caps_without_right, "what there is to drop can be dropped by anybody");
	check(fresh_keyring, "a fresh keyring");
	return tap_done();
}
