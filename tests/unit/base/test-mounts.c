/* SPDX-License-Identifier: MIT */
#include "base/mounts.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "base/sys.h"
#include "tap.h"

static bool has_point(const struct mounts *mounts, const char *point)
{
	for (size_t i = 0; i < mounts->len; i++)
		if (strcmp(mounts->items[i].point, point) == 0)
			return true;
	return false;
}

static void mirrors(const struct mounts *mounts, const char *path, const char *expected)
{
	struct strv found = {0};
	struct str text = {0};

	tap_eq_int(mounts_mirrors(mounts, path, &found), 0, "mirrors of %s", path);
	for (size_t i = 0; i < found.len; i++)
		str_appendf(&text, "%s%s", i ? " " : "", found.items[i]);
	tap_eq_str(str_text(&text), expected, "%s: %s", path, expected);
	str_release(&text);
	strv_release(&found);
}

static void test_parse(void)
{
	struct mounts mounts = {0};

	tap_eq_int(mounts_parse(strdup("29 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
				       "30 29 0:25 / /a\\040b\\134c\\012d rw - tmpfs x rw\n"
				       "broken\n"
				       "31 29 0:26 /x /last"),
				&mounts),
		   0, "mount points");
	tap_ok(mounts.len == 3 && strcmp(mounts.items[0].point, "/") == 0, "the root");
	tap_ok(mounts.len == 3 && strcmp(mounts.items[1].point, "/a b\\c\nd") == 0, "escaped");
	tap_ok(mounts.len == 3 && strcmp(mounts.items[2].point, "/last") == 0 &&
		       strcmp(mounts.items[2].root, "/x") == 0,
	       "a short line");
	tap_ok(mounts.len == 3 && strcmp(mounts.items[0].type, "ext4") == 0 &&
		       strcmp(mounts.items[1].type, "tmpfs") == 0 &&
		       strcmp(mounts.items[2].type, "") == 0,
	       "what they are of");
	tap_eq_int(mounts_have_twins(&mounts), 0, "no filesystem is there twice");
	mounts_release(&mounts);
	tap_ok(mounts_read(&mounts, NULL) == 0 && has_point(&mounts, "/proc"), "those of here");
	mounts_release(&mounts);
}

static void test_mirrors(void)
{
	struct mounts mounts = {0};

	if (mounts_parse(strdup("1 0 8:1 / / rw\n"
				"2 1 8:2 /home /home rw\n"
				"3 2 8:2 /home/u/ws/secret /home/u/ws/pub rw\n"
				"4 1 8:2 / /mnt rw\n"
				"5 1 8:1 /home/u /srv rw\n"
				"6 2 8:2 /home/u/ws/secret /home/u/ws/gone rw\n"
				"7 6 0:30 / /home/u/ws/gone rw\n"
				"8 1 8:2 /home/u/ws/secret/in /in rw\n"),
			 &mounts) < 0)
		abort();
	tap_eq_int(mounts_have_twins(&mounts), 1, "some are");
	mirrors(&mounts, "/home/u/ws/secret", "/home/u/ws/pub /mnt/home/u/ws/secret /in");
	mirrors(&mounts, "/home/u/ws/secret/key", "/home/u/ws/pub/key /mnt/home/u/ws/secret/key");
	mirrors(&mounts, "/home/u/ws/pub/key", "/home/u/ws/secret/key /mnt/home/u/ws/secret/key");
	mirrors(&mounts, "/home/u/ws/other", "/mnt/home/u/ws/other");
	mirrors(&mounts, "/mnt/x", "");
	mirrors(&mounts, "/etc", "");
	mounts_release(&mounts);
}

static void test_kernel(void)
{
	struct mounts mounts = {0};
	struct strv found = {0};

	if (mounts_parse(strdup("1 0 8:1 / / rw - ext4 /dev/sda rw\n"
				"2 1 0:4 / /proc rw shared:1 - proc proc rw\n"
				"3 1 0:5 / /sys rw shared:2 - sysfs sysfs rw\n"
				"4 3 0:6 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
				"5 1 0:7 / /srv/ch/proc rw shared:3 master:4 - proc proc rw\n"
				"6 1 0:5 / /srv/ch/sys rw - sysfs sysfs rw\n"
				"7 1 0:6 / /cg rw - cgroup2 none rw\n"
				"8 1 0:9 / /cg1 rw - cgroup none rw,memory\n"
				"9 1 0:8 / /srv/gone/proc rw - proc proc rw\n"
				"10 9 8:2 / /srv/gone/proc rw - ext4 - rw\n"),
			 &mounts) < 0)
		abort();
	tap_eq_int(mounts_of_kernel(&mounts, &found), 0, "what is the kernel's");
	tap_ok(found.len == 4 && strv_has(&found, "/srv/ch/proc") &&
		       strv_has(&found, "/srv/ch/sys") && strv_has(&found, "/cg") &&
		       strv_has(&found, "/cg1"),
	       "elsewhere, and not mounted over");
	mounts.len = 4;
	tap_eq_int(mounts_have_twins(&mounts), 0, "as on most machines");
	mounts.len = 5;
	tap_eq_int(mounts_have_twins(&mounts), 1, "one more /proc is one of the same");
	strv_release(&found);
	mounts_release(&mounts);
}

/* In a namespace of its own, with one more mount of what is mounted already. */
static bool may_have_twins_with_one_more(bool proc, bool *ret_tried)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS | (proc ? CLONE_NEWPID : 0)) < 0)
			_exit(2);
		/* A new /proc is for those who are born into a pid namespace. */
		child = proc ? fork() : 0;
		if (child > 0)
			_exit(waitpid(child, &status, 0) == child && WIFEXITED(status)
				      ? WEXITSTATUS(status)
				      : 2);
		if ((proc ? mount("proc", "/usr", "proc", 0, NULL)
			  : mount("/usr", "/usr", "none", MS_BIND, NULL)) < 0)
			_exit(2);
		_exit(mounts_may_have_twins() ? 0 : 1);
	}
	waitpid(child, &status, 0);
	*ret_tried = WIFEXITED(status) && WEXITSTATUS(status) != 2;
	return status == 0;
}

static void test_asked(void)
{
	struct mounts mounts = {0};
	bool tried, found = may_have_twins_with_one_more(false, &tried);

	if (mounts_read(&mounts, NULL) < 0)
		abort();
	if (sys_listmount(0, &(uint64_t){0}, 1) == 1)
		tap_eq_int(mounts_may_have_twins(), mounts_have_twins(&mounts),
			   "asked, the kernel says what can be read");
	else
		tap_ok(mounts_may_have_twins(), "a kernel that does not answer may have them");
	if (tried)
		tap_ok(found, "one more mount of a filesystem is found");
	else
		tap_skip("no namespaces here");
	found = may_have_twins_with_one_more(true, &tried);
	if (tried)
		tap_ok(found, "and one more /proc");
	else
		tap_skip("no /proc of a namespace here");
	mounts_release(&mounts);
}

int main(void)
{
	test_parse();
	test_mirrors();
	test_kernel();
	test_asked();
	return tap_done();
}
