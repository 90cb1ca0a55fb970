/* SPDX-License-Identifier: MIT */
/* Which rung of the limits a host has, on cgroup trees that are made up. */
#include "plan/rung.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "scratch.h"
#include "tap.h"

/* A cgroup of v2 that hands CONTROL down. */
static void group(const char *path, const char *control)
{
	char name[512];

	mkdir(path, 0755);
	snprintf(name, sizeof(name), "%s/cgroup.procs", path);
	scratch_write(name, "");
	snprintf(name, sizeof(name), "%s/cgroup.controllers", path);
	scratch_write(name, "cpu io memory pids\n");
	snprintf(name, sizeof(name), "%s/cgroup.subtree_control", path);
	scratch_write(name, control);
}

static void expect(const char *name, bool v2, const char *text, uid_t uid, bool in_scope,
		   enum rung rung, const char *dir)
{
	struct cgroup_site site = {0};
	struct err err = {0};
	int r = cgroup_site_find("tree", v2, text, uid, in_scope, &site, &err);

	tap_ok(r == 0 && site.rung == rung, "%s: %s", name, rung_name(rung));
	tap_eq_str(site.dirs[0], dir, "%s: where", name);
	cgroup_site_release(&site);
}

static void test_v2(void)
{
	group("tree", "cpu memory pids\n");
	group("tree/user.slice", "cpu io memory pids\n");
	group("tree/user.slice/app", "");
	group("tree/half.slice", "memory\n");
	group("tree/half.slice/app", "");
	group("tree/like.slice", "memoryx pidsy\n");

	expect("a leaf", true, "0::/user.slice/app\n", 1000, false, RUNG_CGROUP2,
	       "tree/user.slice");
	expect("one controller only", true, "0::/half.slice/app\n", 1000, false, RUNG_CGROUP2,
	       "tree");
	expect("similar words", true, "0::/like.slice\n", 1000, false, RUNG_CGROUP2, "tree");
	expect("the top", true, "0::/\n", 0, false, RUNG_CGROUP2, "tree");
	expect("beside the namespace", true, "0::/../other\n", 0, false, RUNG_WATCHDOG, NULL);
	expect("hybrid lines before it", true, "3:memory:/x\n0::/user.slice/app\n", 0, false,
	       RUNG_CGROUP2, "tree/user.slice");
	expect("no line of v2", true, "3:memory:/x\n", 0, false, RUNG_WATCHDOG, NULL);
	expect("a scope of our own", true, "0::/user.slice/app\n", 1000, true, RUNG_SYSTEMD,
	       "tree/user.slice/app");
	if (getuid() == 0) {
		tap_ok(true, "root may write everywhere: no test of what is not writable");
		return;
	}
	chmod("tree/user.slice", 0555);
	chmod("tree", 0555);
	expect("nothing writable", true, "0::/user.slice/app\n", 1000, false, RUNG_WATCHDOG, NULL);
	chmod("tree", 0755);
	chmod("tree/user.slice", 0755);
}

static void test_v1(void)
{
	const char *both = "9:pids:/a\n8:cpu,cpuacct:/\n4:memory:/a/b\n0::/\n";

	mkdir("tree/memory", 0755);
	mkdir("tree/memory/a", 0755);
	mkdir("tree/memory/a/b", 0755);
	mkdir("tree/pids", 0755);
	mkdir("tree/pids/a", 0755);
	expect("v1 as root", false, both, 0, false, RUNG_CGROUP1, "tree/memory/a/b");
	expect("v1 as somebody else", false, both, 1000, false, RUNG_WATCHDOG, NULL);
	expect("v1 without pids", false, "4:memory:/a/b\n", 0, false, RUNG_WATCHDOG, NULL);
	expect("nothing at all", false, "", 0, false, RUNG_WATCHDOG, NULL);
	expect("junk", false, "::::\nmemory\n:memory:\n4:memory\n", 0, false, RUNG_WATCHDOG, NULL);
}

int main(void)
{
	scratch_enter();
	test_v2();
	test_v1();
	scratch_leave();
	return tap_done();
}
