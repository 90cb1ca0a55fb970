/* SPDX-License-Identifier: MIT */
/* Where the sandbox shows the host's files, what is worth asking the host, what is noise, and
 * which calls are about which names. */
#include "observe/verdict.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "observe/call.h"
#include "observe/noise.h"
#include "plan/op.h"
#include "plan/plan.h"
#include "tap.h"

static struct plan *make_plan(void)
{
	struct plan *plan = calloc(1, sizeof(*plan));

	if (!plan || plan_add_tmpfs_root(plan, 1) < 0 ||
	    plan_add(plan, OP_BIND, "/usr", "/usr", OP_RDONLY) < 0 ||
	    plan_add_mode(plan, OP_PRIVATE, "/home/u", 0700) < 0 ||
	    plan_add(plan, OP_BIND, "/home/u/ws", "/home/u/ws", 0) < 0 ||
	    plan_add(plan, OP_HIDE, NULL, "/home/u/ws/secret", 0) < 0 ||
	    plan_add(plan, OP_READONLY, NULL, "/", 0) < 0 ||
	    plan_add(plan, OP_PIVOT, NULL, NULL, 0) < 0 ||
	    plan_add(plan, OP_ALLOW, NULL, "/home/u/.config", 0) < 0)
		exit(1);
	return plan;
}

static void test_places(void)
{
	static const struct {
		const char *path;
		bool is_private;
	} rows[] = {
		{"/usr/bin/x", false},         {"/opt/x", true},     {"/home/u/.config/x", true},
		{"/home/u/ws/src/x", false},   {"/home/u2/x", true}, {"/home/u/ws/secret/x", true},
		{"/home/u/ws/secrets", false}, {"/", true},
	};
	_cleanup_(plan_freep) struct plan *plan = make_plan();

	for (size_t i = 0; i < array_len(rows); i++)
		tap_ok(plan_is_private_at(plan, rows[i].path) == rows[i].is_private, "%s is %s",
		       rows[i].path, rows[i].is_private ? "the sandbox's own" : "the host's");
}

/* By mounts of this host: everything is writable in /dev/shm, and /proc/sys is not there. */
static void test_judge(void)
{
	_cleanup_(plan_freep) struct plan *plan = make_plan();
	_cleanup_(fd_closep) int root = fd_open("/", O_PATH | O_DIRECTORY);
	struct scene scene = {.plan = plan, .root = root};

	tap_eq_int(scene_judge(&scene, "/home/u/ws/secret/x", NAME_OPENED, false), VERDICT_HIDDEN,
		   "what is hidden is");
	tap_eq_int(scene_judge(&scene, "/no-such-folder/x", NAME_OPENED, false), VERDICT_MISSING,
		   "a folder that is missing may be hidden");
	tap_eq_int(scene_judge(&scene, "/no-such-file", NAME_CHANGES, false), VERDICT_MISSING,
		   "and so may a file");
	tap_eq_int(scene_judge(&scene, "/no-such-file", NAME_GOES, false), VERDICT_FINE,
		   "but one that is removed may have been there");
	tap_eq_int(scene_judge(&scene, "/usr", NAME_MADE, false), VERDICT_FINE,
		   "what is there cannot be made, and nobody is to blame");
	tap_eq_int(scene_judge(&scene, "/dev/null", NAME_CHANGES, false), VERDICT_FINE,
		   "a device is no file");
	tap_eq_int(scene_judge(&scene, "/proc/self/comm", NAME_CHANGES, false), VERDICT_FINE,
		   "nobody's own files are judged");
	tap_eq_int(scene_judge(&scene, "/no-such-file", NAME_USED, false), VERDICT_FINE,
		   "nor what is only used");
	scene.root = -1;
	tap_eq_int(scene_judge(&scene, "/no-such-file", NAME_CHANGES, false), VERDICT_FINE,
		   "nor anything as long as nobody knows the root");
}

/* Without mounts: rules. */
static void test_rules(void)
{
	_cleanup_(plan_freep) struct plan *plan = calloc(1, sizeof(*plan));
	_cleanup_(fd_closep) int root = fd_open("/", O_PATH | O_DIRECTORY);
	struct scene scene = {.plan = plan, .root = root};

	if (!plan || plan_add(plan, OP_ALLOW, NULL, "/usr", OP_RDONLY) < 0 ||
	    plan_add(plan, OP_ALLOW, NULL, "/usr/share", 0) < 0)
		exit(1);
	plan->engine = ENGINE_LANDLOCK;
	tap_eq_int(scene_judge(&scene, "/usr/x", NAME_OPENED, false), VERDICT_READONLY,
		   "rules: may be read, not written");
	tap_eq_int(scene_judge(&scene, "/usr/share/x", NAME_OPENED, false), VERDICT_FINE,
		   "rules: may be written");
	tap_eq_int(scene_judge(&scene, "/etc/x", NAME_MADE, false), VERDICT_HIDDEN,
		   "rules: may not be reached");
	tap_eq_int(scene_judge(&scene, "/no-such-folder/x", NAME_MADE, false), VERDICT_FINE,
		   "rules: is not there for anybody");
}

static void test_host(void)
{
	static const char local[] = "22 1 0:1 / / rw - ext4 /dev/x rw\n";
	static const char remote[] = "22 1 0:1 / / rw - ext4 /dev/x rw\n"
				     "23 22 0:2 / /usr rw,relatime shared:1 - nfs4 host:/usr rw\n";
	static const char over[] = "23 22 0:2 / /usr rw - fuse.sshfs x rw\n"
				   "22 1 0:1 / / rw - ext4 /dev/x rw\n"
				   "24 23 0:3 / /usr/bin rw - ext4 /dev/y rw\n";

	tap_ok(host_has("/usr/bin", local), "the host has it");
	tap_ok(!host_has("/usr/no-such-file", local), "or not");
	tap_ok(!host_has("/usr/bin", remote), "nobody asks a remote filesystem");
	tap_ok(host_has("/etc", remote), "another is asked");
	tap_ok(!host_has("/usr/lib", over), "whatever it is mounted with");
	tap_ok(host_has("/usr/bin/env", over), "a local one on it is asked");
	tap_ok(!host_has("/usr/bin", "36 35 0:9 / /u\\163r rw - nfs a rw\n"),
	       "whatever its mount point is called");
	tap_ok(!host_has("/usr/bin", "36 35 0:9 / /usr/b\\1 rw - nfs a rw\n"),
	       "half of an escaped character is none");
	tap_ok(!host_has("/usr/bin", ""), "nor anything as long as mounts are unknown");
}

static void test_noise(void)
{
	static const struct {
		const char *op, *target;
		enum violation_weight weight;
	} rows[] = {
		{"open", "/dev/tty", VIOLATION_PROBE},
		{"mkdir", "/usr/lib/python3/x/__pycache__", VIOLATION_PROBE},
		{"create", "/usr/lib/python3/x/__pycache__/y.cpython-311.pyc.12345",
		 VIOLATION_PROBE},
		{"connect", "/var/run/nscd/socket", VIOLATION_PROBE},
		{"io_uring_setup", NULL, VIOLATION_PROBE},
		{"create", "/ws/.git/index.lock", VIOLATION_OPTIONAL},
		{"create", "/home/u/.cache/x/y", VIOLATION_OPTIONAL},
		{"keyctl", NULL, VIOLATION_OPTIONAL},
		{"create", "/etc/hosts", VIOLATION_PLAIN},
		{"create", "/ws/pycache", VIOLATION_PLAIN},
		{"open", "/dev/ttyS0", VIOLATION_PLAIN},
		{"connect", "192.0.2.1:80", VIOLATION_PLAIN},
		{"unshare", NULL, VIOLATION_PLAIN},
	};

	for (size_t i = 0; i < array_len(rows); i++)
		tap_eq_int(noise_weigh(rows[i].op, rows[i].target), rows[i].weight, "%s %s",
			   rows[i].op, rows[i].target ? rows[i].target : "");
}

static void test_calls(void)
{
	tap_eq_str(call_find(__NR_openat)->op, "open", "openat is an open");
	tap_eq_int(call_find(__NR_openat)->flags, 2, "with flags in its third argument");
	tap_eq_int(call_find(__NR_renameat2)->name2, 3, "a rename has two names");
	tap_eq_int(call_find(__NR_symlinkat)->name, 2, "what a link says is no name");
	tap_ok(!call_find(__NR_read), "a read is about no name");
}

int main(void)
{
	test_places();
	test_judge();
	test_rules();
	test_host();
	test_noise();
	test_calls();
	return tap_done();
}
