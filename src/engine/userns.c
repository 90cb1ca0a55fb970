/* SPDX-License-Identifier: MIT */
#include "engine/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/raw.h"
#include "base/sys.h"
#include "engine/mount.h"
#include "engine/namespace.h"
#include "plan/plan.h"
#include "plan/staging.h"

#define RANGE 65536u
enum { MARK_MAPS = 'i', MARK_SERVED = 's', MARK_SERVED_AND_MOVED = 'S' };

static int write_file(int dir, const char *name, const char *text, struct err *err)
{
	_cleanup_(fd_closep) int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return err_sys(err, -errno, "open %s", name);
	r = fd_write_all(fd, text, strlen(text));
	return r < 0 ? err_sys(err, r, "write %s", name) : 0;
}

/* MAP_SIZE bytes; an owner beyond the range gets a line of its own. */
static void format_map(const struct plan *plan, unsigned id, char *map, size_t size)
{
	switch (plan->idmap) {
	case IDMAP_SELF:
	case IDMAP_OWNER:
		snprintf(map, size, "%u %u 1\n", id, id);
		return;
	case IDMAP_IDENTITY:
		snprintf(map, size, "0 0 4294967295\n");
		return;
	case IDMAP_RANGE:
		if (id < RANGE)
			snprintf(map, size, "0 %u %u\n", plan->range_base, RANGE);
		else
			snprintf(map, size, "0 %u %u\n%u %u 1\n", plan->range_base, RANGE, id,
				 plan->range_base + RANGE);
		return;
	case IDMAP_SWITCH:
	case IDMAP_NONE:
		break;
	}
	BUG("no map for a plan without a user namespace");
}

static int write_maps(const struct plan *plan, int proc, struct err *err)
{
	char map[128];
	int r;

	if (plan->idmap == IDMAP_SELF) {
		r = write_file(proc, "setgroups", "deny", err);
		if (r < 0)
			return userns_refused(r, err);
	}
	format_map(plan, plan->uid, map, sizeof(map));
	r = write_file(proc, "uid_map", map, err);
	if (r < 0)
		return userns_refused(r, err);
	format_map(plan, plan->gid, map, sizeof(map));
	r = write_file(proc, "gid_map", map, err);
	return r < 0 ? userns_refused(r, err) : 0;
}

/* The kernel keeps capabilities here: they are lost only when a process leaves
 * the namespace's own root, and nobody has been that yet. Raw calls, because a
 * library's wrappers would reach for threads that do not exist. */
static int become(const struct plan *plan, struct err *err)
{
	if (syscall(SYS_setgroups, 0, NULL) < 0)
		return err_sys(err, -errno, "drop supplementary groups");
	if (syscall(SYS_setresgid, plan->gid, plan->gid, plan->gid) < 0)
		return err_sys(err, -errno, "become group %u", plan->gid);
	if (syscall(SYS_setresuid, plan->uid, plan->uid, plan->uid) < 0)
		return err_sys(err, -errno, "become user %u", plan->uid);
	return 0;
}

/* LEN descriptors go where MARK says. False: it says nothing, or there are too many. That there is
 * no network may come after one: from a helper that ended badly, but too late. */
static bool put_away(struct inbox *inbox, char mark, const void *fds, size_t len)
{
	if (mark == PASSED_MOUNTS && !inbox->has_mounts) {
		memcpy(inbox->mounts, fds, len * sizeof(int));
		inbox->mounts_len = len;
		inbox->has_mounts = true;
	} else if (mark == PASSED_CGROUP && !inbox->has_cgroup && len <= CG_DIRS) {
		memcpy(inbox->cgroup, fds, len * sizeof(int));
		inbox->cgroup_len = len;
		inbox->has_cgroup = true;
	} else if (mark == PASSED_NETWORK && !inbox->has_network && len <= 1) {
		memcpy(&inbox->network, fds, len * sizeof(int));
		inbox->has_network = true;
	} else {
		return mark == PASSED_NETWORK && len == 0;
	}
	return true;
}

static int receive(int channel, struct inbox *inbox, struct err *err)
{
	char mark = 0;
	struct iovec iov = {.iov_base = &mark, .iov_len = 1};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int) * PREPARED_MAX)];
	} control;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(channel, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *cmsg = n == 1 ? CMSG_FIRSTHDR(&msg) : NULL;
	size_t len = cmsg && cmsg->cmsg_type == SCM_RIGHTS
			     ? (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int)
			     : 0;

	if (n != 1 || msg.msg_flags & MSG_CTRUNC ||
	    !put_away(inbox, mark, CMSG_DATA(&control.head), len))
		return err_set(err, ERR_SYSTEM, -EPIPE,
			       "the supervisor did not send what was expected");
	return 0;
}

static bool has_come(const struct inbox *inbox, enum passed what)
{
	switch (what) {
	case PASSED_MOUNTS:
		return inbox->has_mounts;
	case PASSED_CGROUP:
		return inbox->has_cgroup;
	case PASSED_NETWORK:
		return inbox->has_network;
	}
	BUG("nothing of that kind is passed");
}

int userns_receive(int channel, enum passed what, struct inbox *inbox, struct err *err)
{
	int r = 0;

	while (r == 0 && !has_come(inbox, what))
		r = receive(channel, inbox, err);
	return r;
}

int userns_enter(const struct plan *plan, int channel, struct err *err)
{
	_cleanup_(fd_closep) int proc = -1;
	char mark;

	if (plan->idmap == IDMAP_NONE)
		return 0;
	if (plan->idmap == IDMAP_SELF) {
		proc = fd_open("/proc/self", O_PATH | O_DIRECTORY);
		if (proc < 0)
			return err_sys(err, -errno, "open /proc/self");
		return write_maps(plan, proc, err);
	}
	if (plan->idmap == IDMAP_SWITCH) {
		/* So that the bounding set can still be emptied afterwards. */
		if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0)
			return err_sys(err, -errno, "keep capabilities for a while");
		return become(plan, err);
	}
	if (recv(channel, &mark, 1, 0) != 1 || mark != MARK_MAPS)
		return err_set(err, ERR_SYSTEM, -EPIPE, "the supervisor sent no id maps");
	return become(plan, err);
}

int userns_pass(int channel, enum passed what, const int *fds, size_t len, struct err *err)
{
	char mark = (char)what;
	struct iovec iov = {.iov_base = &mark, .iov_len = 1};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int) * PREPARED_MAX)];
	} control = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	long n;

	if (len > 0) {
		struct cmsghdr *cmsg = &control.head;

		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * len);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * len);
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * len);
	}
	n = raw_call(SYS_sendmsg, channel, (long)&msg, MSG_NOSIGNAL); /* errno: see net-maker.c */
	return n == 1 ? 0 : err_sys(err, (int)n, "pass what the sandbox needs");
}

static int prepare_mount(int host, const struct op *op, int userns, int *fds, size_t *len,
			 struct err *err)
{
	int fd;

	if (*len == PREPARED_MAX)
		return err_set(err, ERR_UNSUPPORTED, -E2BIG, "more than %d paths to map for root",
			       PREPARED_MAX);
	fd = mount_clone(host, op, userns, err);
	if (fd < 0)
		return fd;
	fds[(*len)++] = fd;
	return 0;
}

/* The id-mapped mounts, in the order of the plan; what is staged has two, unless it
 * is mounted already. */
static int prepare_mounts(const struct plan *plan, int userns, int *fds, size_t *len,
			  struct err *err)
{
	_cleanup_(fd_closep) int host = fd_open("/", O_PATH | O_DIRECTORY);
	size_t staged = 0;
	int r = 0;

	if (host < 0)
		return err_sys(err, -errno, "open /");
	for (size_t i = 0; i < plan->ops_len && r == 0; i++) {
		const struct op *op = &plan->ops[i];
		const struct staging_root *root = NULL;

		if (op->kind == OP_STAGED && plan->staging)
			root = &plan->staging->roots[staged++];
		if (!(op->flags & OP_IDMAP) || (root && root->joined >= 0))
			continue;
		r = prepare_mount(host, op, userns, fds, len, err);
		if (r == 0 && root)
			r = prepare_mount(
				host,
				&(struct op){.kind = OP_BIND, .src = root->layers, .id = root->id},
				userns, fds, len, err);
	}
	return r;
}

static int send_mark(int channel, char mark, struct err *err)
{
	if (send(channel, &mark, 1, MSG_NOSIGNAL) != 1)
		return err_sys(err, -errno, "let the sandbox go on");
	return 0;
}

static int serve_mounts(const struct plan *plan, int userns, int channel, struct err *err)
{
	int fds[PREPARED_MAX];
	size_t len = 0;
	int r;

	r = prepare_mounts(plan, plan->idmap == IDMAP_RANGE ? userns : -1, fds, &len, err);
	if (r == 0 && len > 0) /* who expects none does not listen */
		r = userns_pass(channel, PASSED_MOUNTS, fds, len, err);
	for (size_t i = 0; i < len; i++)
		fd_close(fds[i]);
	return r;
}

static int open_proc(pid_t pid, struct err *err)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	fd = fd_open(path, O_PATH | O_DIRECTORY);
	return fd < 0 ? err_sys(err, -errno, "open %s", path) : fd;
}

bool userns_serves_mounts(const struct plan *plan)
{
	return plan->idmap == IDMAP_RANGE || plan->idmap == IDMAP_OWNER;
}

static bool is_mapped_by_parent(const struct plan *plan)
{
	return userns_serves_mounts(plan) || plan->idmap == IDMAP_IDENTITY;
}

int userns_grant(const struct plan *plan, pid_t child, int channel, struct err *err)
{
	_cleanup_(fd_closep) int proc = -1;
	int r;

	if (!is_mapped_by_parent(plan))
		return 0;
	proc = open_proc(child, err);
	if (proc < 0)
		return proc;
	r = write_maps(plan, proc, err);
	return r < 0 ? r : send_mark(channel, MARK_MAPS, err);
}

int userns_wait_served(int channel, bool *ret_moved, struct err *err)
{
	ssize_t n;
	char mark;

	do
		n = recv(channel, &mark, 1, 0);
	while (n == 1 && mark == PASSED_NETWORK); /* see put_away() */
	if (n != 1 || (mark != MARK_SERVED && mark != MARK_SERVED_AND_MOVED))
		return err_set(err, ERR_SYSTEM, -EPIPE, "the supervisor is gone");
	*ret_moved = mark == MARK_SERVED_AND_MOVED;
	return 0;
}

int userns_let_go_on(int channel, bool moved, struct err *err)
{
	return send_mark(channel, moved ? MARK_SERVED_AND_MOVED : MARK_SERVED, err);
}

int userns_serve(const struct plan *plan, pid_t child, int pidfd, int channel, struct err *err)
{
	_cleanup_(fd_closep) int userns = -1;

	if (!userns_serves_mounts(plan))
		return 0;
	userns = namespace_open(child, pidfd, NAMESPACE_USER);
	if (userns < 0)
		return err_sys(err, -errno, "open the user namespace");
	return serve_mounts(plan, userns, channel, err);
}

int userns_refused(int r, struct err *err)
{
	if (r == -EPERM || r == -EACCES || r == -ENOSPC || r == -ENOSYS || r == -EINVAL ||
	    r == -EROFS) /* /proc, as around processes that are visible */
		err->code = ERR_NO_NAMESPACES;
	return r;
}

/* The first byte of a setting; 0: there is none. */
static char read_setting(const char *path)
{
	_cleanup_(fd_closep) int fd = fd_open(path, O_RDONLY);
	char c = 0;

	return fd >= 0 && read(fd, &c, 1) == 1 ? c : 0;
}

void userns_hint(struct err *err)
{
	static const struct {
		const char *path;
		char refuses;
		const char *fix;
	} settings[] = {
		{"/proc/sys/user/max_user_namespaces", '0',
		 "sysctl -w user.max_user_namespaces=15000"},
		{"/proc/sys/kernel/unprivileged_userns_clone", '0',
		 "sysctl -w kernel.unprivileged_userns_clone=1"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1',
		 "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
	};

	for (size_t i = 0; i < array_len(settings); i++)
		if (read_setting(settings[i].path) == settings[i].refuses) {
			err_hint(err, 0, "user namespaces are turned off here; as root: %s",
				 settings[i].fix);
			return;
		}
	err_hint(err, 0,
		 "user namespaces are not allowed here: by the seccomp profile of a container "
		 "(docker run --security-opt seccomp=unconfined), a security module, or a limit "
		 "(sysctl user.max_user_namespaces)");
}
