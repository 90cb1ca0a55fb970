/* SPDX-License-Identifier: MIT */
/* What is read from /proc and /sys, on trees that are made up. */
#include "posture/facts.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "scratch.h"
#include "tap.h"

/* tree/NAME with its folders. */
static void put(const char *name, const char *text)
{
	char path[512];

	snprintf(path, sizeof(path), "tree%s", name);
	for (char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
	scratch_write(path, text);
}

static struct facts look(uid_t uid)
{
	struct facts facts;

	facts_read("tree", uid, &facts);
	return facts;
}

static void expect(const char *name, const struct facts *facts, enum promise want, const char *part)
{
	const char *why = NULL;
	enum promise got = facts_userns(facts, &why);

	tap_eq_str(promise_name(got), promise_name(want), "%s", name);
	tap_ok(why && strstr(why, part), "%s: the fact is %s", name, part);
}

static void test_nothing(void)
{
	struct facts facts = look(1000);

	tap_ok(!facts.major && !facts.has_seccomp && facts.cgroup == CGROUP_NONE,
	       "an empty tree tells nothing");
	tap_eq_int(facts.max_userns, -1, "a setting that is not there is not 0");
	tap_ok(!facts.is_chrooted, "without mountinfo nobody says chroot");
}

static void test_kernel(void)
{
	struct facts facts;

	put("/proc/sys/kernel/osrelease", "5.15.0-91-generic\n");
	put("/proc/filesystems", "nodev\tproc\nnodev\toverlayfs\n");
	put("/sys/kernel/security/lsm", "capability,yama,apparmor\n");
	facts = look(1000);
	tap_ok(facts.major == 5 && facts.minor == 15, "the version is split");
	tap_eq_str(facts.kernel, "5.15.0-91-generic", "and kept");
	tap_ok(!facts.has_overlay, "overlayfs is another word than overlay");
	tap_eq_str(facts.lsm, "capability,yama,apparmor", "security modules");
	put("/proc/filesystems", "nodev\tproc\nnodev\toverlay\n");
	tap_ok(look(1000).has_overlay, "twin: overlay");
}

static void test_userns(void)
{
	struct facts facts;

	put("/proc/sys/user/max_user_namespaces", "1000\n");
	put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\nSeccomp:\t0\n");
	put("/proc/self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw\n"
				    "27 1 8:1 / / rw - ext4 /dev/sda rw\n");
	facts = look(1000);
	tap_ok(facts.has_seccomp && !facts.is_filtered && !facts.may_admin, "status is read");
	expect("nothing forbids", &facts, PROMISE_LIKELY, "no setting");
	put("/proc/sys/user/max_user_namespaces", "0\n");
	facts = look(1000);
	expect("none allowed", &facts, PROMISE_REFUSED, "max_user_namespaces is 0");
	put("/proc/sys/user/max_user_namespaces", "1\n");
	put("/proc/sys/kernel/unprivileged_userns_clone", "0\n");
	facts = look(1000);
	expect("Debian's switch", &facts, PROMISE_REFUSED, "unprivileged_userns_clone");
	put("/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n");
	facts = look(0);
	expect("twin: it does not bind root", &facts, PROMISE_LIKELY, "no setting");
	put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\nSeccomp:\t0\n");
	put("/proc/sys/kernel/unprivileged_userns_clone", "1\n");
	put("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
	put("/proc/self/attr/current", "unconfined\n");
	facts = look(1000);
	expect("Ubuntu's restriction", &facts, PROMISE_REFUSED, "apparmor");
	put("/proc/self/attr/current", "pale (unconfined)\n");
	facts = look(1000);
	expect("twin: with a profile of our own", &facts, PROMISE_LIKELY, "no setting");
	put("/proc/self/status", "Name:\tx\nCapEff:\t0\nSeccomp:\t2\n");
	facts = look(1000);
	expect("a container's filter", &facts, PROMISE_DOUBTFUL, "seccomp");
	put("/proc/self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw\n");
	facts = look(1000);
	expect("a chroot", &facts, PROMISE_REFUSED, "chroot");
}

static void test_cgroup(void)
{
	struct facts facts;

	put("/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
			     "memory\t4\t10\t0\npids\t8\t10\t1\n");
	put("/sys/fs/cgroup/pids/tasks", "");
	facts = look(1000);
	tap_ok(facts.cgroup == CGROUP_V1 && facts.has_pids && !facts.has_memory,
	       "v1: a controller that was disabled at boot is not there");
	tap_ok(!facts.has_systemd && !facts.has_manager && !facts.has_delegation, "no systemd");
	put("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
	put("/run/systemd/system/x", "");
	put("/run/user/1000/systemd/private", "");
	put("/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/cgroup.controllers",
	    "memory pids\n");
	facts = look(1000);
	tap_ok(facts.cgroup == CGROUP_V2 && facts.has_memory && !facts.has_pids, "v2: by its list");
	tap_ok(facts.has_systemd && facts.has_manager && facts.has_delegation, "a user's manager");
	facts = look(1001);
	tap_ok(!facts.has_manager && !facts.has_delegation, "is not another user's");
	put("/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/cgroup.controllers",
	    "cpu pids\n");
	tap_ok(!look(1000).has_delegation, "both controllers are needed");
}

int main(void)
{
	scratch_enter();
	test_nothing();
	test_kernel();
	test_userns();
	test_cgroup();
	scratch_leave();
	return tap_done();
}
