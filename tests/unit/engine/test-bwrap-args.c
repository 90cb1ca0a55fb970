/* SPDX-License-Identifier: MIT */
#include "engine/bwrap-args.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "plan/op.h"
#include "tap.h"

#define ALL                                                                                        \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET)

/* Descriptors are numbered from 10; what ends in "-file" is one, what has "absent"
 * in it does not exist. */
static int next_fd;
static struct str opened;

static int open_source(void *data, const char *path, const struct file_id *id, struct err *err)
{
	(void)data;
	if (id->ino == 666)
		return err_set(err, ERR_SYSTEM, -ESTALE, "%s was replaced", path);
	str_appendf(&opened, "%d=%s ", next_fd, path);
	return next_fd++;
}

static int open_empty(void *data, struct err *err)
{
	(void)data, (void)err;
	return next_fd++;
}

static int open_text(void *data, const char *text, struct err *err)
{
	(void)data, (void)err;
	str_appendf(&opened, "%d='%s' ", next_fd, text);
	return next_fd++;
}

static enum bwrap_type type_of(void *data, const char *path)
{
	(void)data;
	if (strstr(path, "absent"))
		return BWRAP_ABSENT;
	if (strstr(path, "unknown"))
		return BWRAP_UNKNOWN;
	return str_ends(path, "-file") ? BWRAP_FILE : BWRAP_DIR;
}

static const struct bwrap_host fake = {open_source, open_empty, open_text, type_of, NULL};

static int compile(const struct plan *plan, struct str *text, struct err *err)
{
	_cleanup_(strv_release) struct strv args = {0};
	int r;

	next_fd = 10;
	str_release(&opened);
	opened = (struct str){0};
	r = bwrap_args(plan, &fake, &args, err);
	for (size_t i = 0; i < args.len; i++)
		str_appendf(text, "%s%s", i ? " " : "", args.items[i]);
	return r;
}

static void gives(struct plan *plan, const char *want, const char *want_opened, const char *name)
{
	_cleanup_(str_release) struct str text = {0};
	struct err err = {0};
	int r = compile(plan, &text, &err);

	tap_eq_int(r, 0, "%s: %s", name, r ? err.message : "it can be said");
	tap_eq_str(str_text(&text), want, "%s: the arguments", name);
	tap_eq_str(str_text(&opened), want_opened, "%s: the sources", name);
}

static void refuses(struct plan *plan, int want, const char *says, const char *name)
{
	_cleanup_(str_release) struct str text = {0};
	struct err err = {0};

	tap_eq_int(compile(plan, &text, &err), want, "%s: refused", name);
	tap_ok(strstr(err.message, says), "%s: %s", name, err.message);
}

static struct plan *new_plan(unsigned long namespaces)
{
	struct plan *plan = calloc(1, sizeof(*plan));

	plan->namespaces = namespaces;
	plan->confined = true;
	return plan;
}

#define PLAN(name, flags) _cleanup_(plan_freep) struct plan *name = new_plan(flags)

static void test_root(void)
{
	PLAN(plan, ALL);

	plan_add_tmpfs_root(plan, 4096);
	plan_add(plan, OP_SYMLINK, "usr/bin", "/bin", 0);
	plan_add_mode(plan, OP_AUX, "/.pale", 0700);
	plan_add(plan, OP_PROC, NULL, "/proc", 0);
	plan_add(plan, OP_LIMIT_USERNS, NULL, NULL, 0);
	plan_add(plan, OP_READONLY, NULL, "/proc/sys", OP_OPTIONAL);
	plan_add(plan, OP_READONLY, NULL, "/proc/absent", OP_OPTIONAL);
	plan_add(plan, OP_HIDE, NULL, "/proc/keys-file", OP_OPTIONAL);
	plan_add(plan, OP_HIDE, NULL, "/proc/absent", OP_OPTIONAL);
	plan_add(plan, OP_DEVICE, NULL, "/dev/null", OP_FILE);
	plan_add(plan, OP_SYMLINK, "pts/ptmx", "/dev/ptmx", 0);
	plan_add(plan, OP_DEVPTS, NULL, "/dev/pts", 0);
	plan_add_mode(plan, OP_PRIVATE, "/dev/shm", 01777);
	plan_add_mode(plan, OP_PRIVATE, "/home/a", 0700);
	plan_add(plan, OP_BIND, "/usr", "/usr", OP_RDONLY);
	plan_add(plan, OP_BIND, "/home/a/ws", "/home/a/ws", OP_IDMAP);
	plan_add(plan, OP_HIDE, NULL, "/.pale", 0);
	plan_add(plan, OP_READONLY, NULL, "/", 0);
	plan_add(plan, OP_PIVOT, NULL, NULL, 0);
	plan_add(plan, OP_LOOPBACK, NULL, NULL, 0);
	plan_add(plan, OP_HOSTNAME, "pale", NULL, 0);
	plan_add(plan, OP_SECCOMP, NULL, NULL, 0);
	gives(plan,
	      "--die-with-parent --unshare-user --unshare-pid --as-pid-1 --unshare-ipc "
	      "--unshare-uts --unshare-net --symlink usr/bin /bin --proc /proc --disable-userns "
	      "--ro-bind-fd 10 /proc/sys --perms 0000 --ro-bind-data 11 /proc/keys-file "
	      "--dev /dev --perms 1777 --size 4096 --tmpfs /dev/shm --remount-ro /dev "
	      "--perms 0755 --dir /home --perms 0700 --size 4096 --tmpfs /home/a "
	      "--ro-bind-fd 12 /usr --bind-fd 13 /home/a/ws --remount-ro / --hostname pale",
	      "10=/proc/sys 12=/usr 13=/home/a/ws ", "a root of its own");
}

static void test_deep(void)
{
	PLAN(plan, ALL);
	char path[4096];

	memset(path, 'd', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	path[0] = '/';
	plan_add_tmpfs_root(plan, 4096);
	plan_add(plan, OP_HIDE, NULL, path, 0);
	refuses(plan, -ENAMETOOLONG, "too deep", "what lies deeper than a name can say");
}

static void test_host_root(void)
{
	PLAN(plan, CLONE_NEWUSER | CLONE_NEWNS);

	plan_add(plan, OP_ROOT_BIND, "/", "/", OP_RDONLY);
	plan_add_tmpfs(plan, "/run", 1000, 0755);
	plan_add(plan, OP_BIND, "/proc", "/proc", OP_NOEXEC);
	plan_add(plan, OP_READONLY, NULL, "/proc", OP_NOEXEC);
	plan_add_tmpfs(plan, "/dev", 100, 0755);
	plan_add_tmpfs(plan, "/dev/shm", 2000, 01777);
	gives(plan,
	      "--die-with-parent --unshare-user --ro-bind / / --perms 0755 --size 1000 --tmpfs /run "
	      "--bind-fd 10 /proc --ro-bind-fd 11 /proc --dev /dev "
	      "--perms 1777 --size 2000 --tmpfs /dev/shm --remount-ro /dev",
	      "10=/proc 11=/proc ", "the host's root, processes visible");
}

/* A pin that came after what is mounted below it would bring that back. */
static void test_pins(void)
{
	PLAN(plan, CLONE_NEWUSER);

	plan_add_tmpfs_root(plan, 4096);
	plan_add(plan, OP_BIND, "/host/ws", "/ws", 0);
	plan_add(plan, OP_BIND, "/host/ws/a/b/ro", "/ws/a/b/ro", OP_RDONLY);
	plan_add(plan, OP_PIN, NULL, "/ws/a", 0);
	plan_add(plan, OP_PIN, NULL, "/ws/a/b", 0);
	plan_add(plan, OP_PIN, NULL, "/ws/c", 0);
	plan_add(plan, OP_HIDE, NULL, "/ws/a/b/secret-file", 0);
	plan_add(plan, OP_HIDE, NULL, "/ws/c/secret", 0);
	gives(plan,
	      "--die-with-parent --unshare-user --bind-fd 10 /ws --bind-fd 11 /ws/a "
	      "--bind-fd 12 /ws/a/b --ro-bind-fd 13 /ws/a/b/ro --bind-fd 14 /ws/c "
	      "--perms 0000 --ro-bind-data 15 /ws/a/b/secret-file "
	      "--perms 0000 --tmpfs /ws/c/secret --remount-ro /ws/c/secret",
	      "10=/host/ws 11=/host/ws/a 12=/host/ws/a/b 13=/host/ws/a/b/ro 14=/host/ws/c ",
	      "pins come before what they would cover");
}

static void test_readonly_file(void)
{
	PLAN(plan, CLONE_NEWUSER);

	plan_add_tmpfs_root(plan, 4096);
	plan_add(plan, OP_BIND, "/host/ws", "/ws", 0);
	plan_add(plan, OP_READONLY, NULL, "/ws/.git/config-file", 0);
	gives(plan,
	      "--die-with-parent --unshare-user --bind-fd 10 /ws --ro-bind-fd 11 "
	      "/ws/.git/config-file",
	      "10=/host/ws 11=/host/ws/.git/config-file ", "read-only inside of writable");
}

static void refuses_one(enum op_kind kind, const char *src, const char *dst, int want,
			const char *says, const char *name)
{
	PLAN(plan, CLONE_NEWUSER);

	plan_add_tmpfs_root(plan, 4096);
	plan_add(plan, OP_BIND, "/ws", "/ws", 0);
	plan_add(plan, OP_BIND, "/ws/a/b", "/ws/a/b", OP_RDONLY);
	plan_add(plan, kind, src, dst, 0);
	refuses(plan, want, says, name);
}

static void test_refusals(void)
{
	struct file_id replaced = {.dev = 1, .ino = 666};
	PLAN(plan, CLONE_NEWUSER);

	refuses_one(OP_OVERLAY, "/ws", "/ws", -ENOTSUP, "overlay", "an overlay");
	refuses_one(OP_READONLY, NULL, "/ws/a", -ENOTSUP, "/ws/a/b",
		    "read-only over what is mounted below");
	refuses_one(OP_HIDE, NULL, "/ws/absent", -ENOENT, "/ws/absent",
		    "a hidden path that would be made on the host");
	refuses_one(OP_HIDE, NULL, "/proc/unknown", -EIO, "/proc/unknown",
		    "a path to hide that cannot be looked at");
	refuses_one(OP_BIND, "/x", "/ws/unknown", -EIO, "/ws/unknown",
		    "a mount point that cannot be looked at");
	refuses_one(OP_BIND, "/x", "/ws/absent", -ENOENT, "/ws/absent",
		    "a mount point that would be made on the host");
	refuses_one(OP_PRIVATE, NULL, "/ws/absent", -ENOENT, "/ws/absent",
		    "a private folder that would be made on the host");
	refuses_one(OP_DEVICE, NULL, "/dev/kvm", -ENOTSUP, "/dev/kvm", "a device of the host");
	refuses_one(OP_PIN, NULL, "/tmp/x", -ENOTSUP, "/tmp/x", "a pin of the sandbox's own");
	plan_add_bind(plan, OP_BIND, "/ws", "/ws", 0, replaced);
	refuses(plan, -ESTALE, "replaced", "a source that is another file now");
}

static void test_names(void)
{
	PLAN(plan, CLONE_NEWUSER | CLONE_NEWNET);

	plan_add_tmpfs_root(plan, 4096);
	plan_add(plan, OP_BIND, "/etc", "/etc", OP_RDONLY);
	plan_add_mode(plan, OP_PRIVATE, "/run", 0755);
	plan_add(plan, OP_NOTE, "one", "/etc/hosts-file", OP_OPTIONAL);
	plan_add(plan, OP_NOTE, "two", "/run/absent/resolv.conf", OP_OPTIONAL);
	plan_add(plan, OP_NOTE, "three", "/etc/absent", OP_OPTIONAL);
	plan_add(plan, OP_EVERYWHERE, NULL, NULL, 0);
	gives(plan,
	      "--die-with-parent --unshare-user --unshare-net --ro-bind-fd 10 /etc "
	      "--perms 0755 --size 4096 --tmpfs /run "
	      "--perms 0444 --ro-bind-data 11 /etc/hosts-file "
	      "--perms 0444 --ro-bind-data 12 /run/absent/resolv.conf",
	      "10=/etc 11='one' 12='two' ",
	      "a text over a file, or where the sandbox is its own; the network is the warden's");
	plan_add(plan, OP_NOTE, "four", "/etc/absent", 0);
	refuses(plan, -ENOENT, "/etc/absent", "a text where the host has nothing");
}

int main(void)
{
	test_names();
	test_root();
	test_deep();
	test_host_root();
	test_pins();
	test_readonly_file();
	test_refusals();
	str_release(&opened);
	return tap_done();
}
