/* SPDX-License-Identifier: MIT */
#include "engine/contain.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "confine/landlock.h"
#include "engine/cgroup.h"
#include "engine/mount.h"
#include "engine/net.h"
#include "engine/staged.h"
#include "engine/userns.h"
#include "plan/plan.h"
#include "warden/allow.h"
#include "warden/protocol.h"
#include "warden/pty.h"
#include "warden/scratch.h"
#include "warden/sockets.h"
#include "warden/step.h"
#include "warden/warden.h"

enum { CHANNEL = 3 };

/* Keep 0, 1, 2 and the channel; whatever else the caller left open is gone. */
static int keep_descriptors(int channel, const struct stdio *stdio, const struct staging *staging,
			    struct err *err)
{
	/* The given ones may be 0, 1 and 2 in another order: none is overwritten
	 * before it was copied. */
	int copies[3], next;

	for (int i = 0; i < 3; i++) {
		copies[i] = stdio->fd[i] == i ? i : fcntl(stdio->fd[i], F_DUPFD_CLOEXEC, CHANNEL);
		if (copies[i] < 0)
			return err_sys(err, -errno, "copy descriptor %d", i);
	}
	for (int i = 0; i < 3; i++)
		if (copies[i] != i && dup2(copies[i], i) < 0)
			return err_sys(err, -errno, "pass descriptor %d", i);
	if (channel != CHANNEL && dup3(channel, CHANNEL, O_CLOEXEC) < 0)
		return err_sys(err, -errno, "keep the channel");
	next = staged_keep(staging, CHANNEL + 1, err);
	if (next < 0)
		return next;
	if (sys_close_range((unsigned)next, ~0U, 0) < 0)
		return err_sys(err, -errno, "close inherited descriptors");
	return 0;
}

/* What the kernel counts for each user, and for each user namespace below: the
 * user outside shall have some left. */
#define OF_USER "proc/sys/user/max_"
#define SOME    "1024" /* of many thousands, as a rule */
static const struct {
	const char *file, *value; /* NULL: half of what the user has */
	const char *all;
	enum { ALWAYS, FLAT, NESTED } when;
} quotas[] = {
	{OF_USER "inotify_instances", "64", NULL, ALWAYS},
	{OF_USER "inotify_watches", NULL, "proc/sys/fs/inotify/max_user_watches", ALWAYS},
	{OF_USER "fanotify_groups", "16", NULL, ALWAYS},
	{OF_USER "user_namespaces", "0", NULL, FLAT},
	{OF_USER "user_namespaces", SOME, NULL, NESTED},
	{OF_USER "mnt_namespaces", SOME, NULL, NESTED},
	{OF_USER "pid_namespaces", SOME, NULL, NESTED},
	{OF_USER "net_namespaces", SOME, NULL, NESTED},
	{OF_USER "ipc_namespaces", SOME, NULL, NESTED},
	{OF_USER "uts_namespaces", SOME, NULL, NESTED},
	{OF_USER "cgroup_namespaces", SOME, NULL, NESTED},
	{OF_USER "time_namespaces", SOME, NULL, NESTED},
};

/* Half of the number in FILE, as text: of the host, whose /proc has the file at hand. */
static int read_half(const struct builder *b, const char *file, char ret[32])
{
	_cleanup_(fd_closep) int fd = path_open_nolink(b->host, file, O_RDONLY, 0);
	ssize_t n = fd < 0 ? 0 : read(fd, ret, 31);

	if (fd < 0 || n < 0)
		return fd < 0 ? fd : -errno;
	ret[n] = '\0';
	snprintf(ret, 32, "%llu", strtoull(ret, NULL, 10) / 2);
	return 0;
}

static int lower_quota(const struct builder *b, size_t i)
{
	_cleanup_(fd_closep) int fd = path_open_nolink(b->root, quotas[i].file, O_WRONLY, 0);
	const char *value = quotas[i].value;
	char half[32];
	int r = fd < 0 ? fd : 0;

	if (r == 0 && !value) {
		r = read_half(b, quotas[i].all, half);
		value = half;
	}
	return r < 0 ? r : fd_write_all(fd, value, strlen(value));
}

static int limit_userns(const struct builder *b, const struct op *op, struct err *err)
{
	for (size_t i = 0; i < array_len(quotas); i++) {
		int r;

		if (quotas[i].when == (op->flags & OP_NESTED ? FLAT : NESTED))
			continue;
		r = lower_quota(b, i);
		if (r == -ENOENT && quotas[i].when != FLAT)
			continue; /* a kernel without it has nothing to share out */
		if (r < 0)
			return userns_refused(err_sys(err, r, "lower %s inside", quotas[i].file),
					      err);
	}
	return 0;
}

/* Before anything shows it, and before the command is there. */
static int join_cgroup(struct builder *b, struct err *err)
{
	int r = b->joins ? userns_receive(CHANNEL, PASSED_CGROUP, &b->inbox, err) : 0;

	if (r < 0 || !b->joins)
		return r;
	b->joins = false;
	return cgroup_join_passed(b->inbox.cgroup, b->inbox.cgroup_len, err);
}

/* The private network: ours by birth, or made by a helper meanwhile, or, where that failed, here. */
static int connect_network(struct builder *b, struct err *err)
{
	int r;

	if (!b->connects)
		return 0;
	r = userns_receive(CHANNEL, PASSED_NETWORK, &b->inbox, err);
	if (r < 0)
		return r;
	if (b->inbox.network < 0 && unshare(CLONE_NEWNET) < 0)
		return userns_refused(err_sys(err, -errno, "create the network"), err);
	if (b->inbox.network >= 0 && setns(b->inbox.network, CLONE_NEWNET) < 0)
		return err_sys(err, -errno, "enter the private network");
	b->inbox.network = fd_close(b->inbox.network);
	b->connects = false;
	return 0;
}

static int apply(struct builder *b, const struct landlock *landlock, const struct op *op,
		 struct err *err)
{
	int r;

	switch ((int)op->kind) {
	case OP_CGROUP_VIEW:
		r = join_cgroup(b, err);
		return r < 0 ? r : builder_apply(b, op, err);
	case OP_LIMIT_USERNS:
		return limit_userns(b, op, err);
	case OP_PIVOT:
		return b->staging && staged_report(b, CHANNEL, err) < 0 ? -EPIPE
									: builder_pivot(b, err);
	case OP_LOOPBACK:
		r = connect_network(b, err);
		return r < 0 ? r : net_loopback_up(err);
	case OP_EVERYWHERE:
		r = connect_network(b, err);
		return r < 0 ? r : net_open(CHANNEL, err);
	case OP_HOSTNAME:
		if (sethostname(op->src, strlen(op->src)) < 0)
			return err_sys(err, -errno, "set the host name");
		return 0;
	default:
		return step_is_known(op->kind) ? step_apply(op, landlock, err)
					       : builder_apply(b, op, err);
	}
}

static bool has_op(const struct plan *plan, enum op_kind kind)
{
	for (size_t i = 0; i < plan->ops_len; i++)
		if (plan->ops[i].kind == kind)
			return true;
	return false;
}

static int apply_all(const struct containment *c, struct landlock *landlock, struct warden_job *job,
		     struct err *err)
{
	const struct plan *plan = c->plan;
	struct builder builder;
	mode_t mask = umask(0);
	int r = allow_begin(plan->ops, plan->ops_len, landlock, err);

	if (job->stands)
		allow_keep(landlock);
	/* From the /dev/pts that the command will see. */
	if (r == 0 && !has_op(plan, OP_PIVOT))
		r = pty_open(c->pty, CHANNEL, 0, &job->terminal, err);
	builder_init(&builder, userns_serves_mounts(plan) ? CHANNEL : -1, plan->staging);
	builder.joins = cgroup_is_passed(plan);
	builder.connects = c->connects;
	for (size_t i = 0; i < plan->ops_len && r == 0; i++) {
		r = apply(&builder, landlock, &plan->ops[i], err);
		if (r == 0 && plan->ops[i].kind == OP_PIVOT)
			r = pty_open(c->pty, CHANNEL, 0, &job->terminal, err);
	}
	umask(mask);
	/* No command is ever left in the network of the host. */
	if (r == 0 && builder.connects)
		return err_set(err, ERR_SYSTEM, -EPROTO, "the private network was not entered");
	return r < 0 ? r : join_cgroup(&builder, err);
}

static int enter_cwd(const struct plan *plan, struct err *err)
{
	if (chdir(plan->cwd) < 0)
		return err_sys(err, -errno, "enter %s", plan->cwd);
	return 0;
}

/* PDEATHSIG is lost with every change of credentials, so it comes last. A
 * supervisor that died before this is seen by the warden: its channel hangs up. */
static int die_with_parent(const struct plan *plan, struct err *err)
{
	bool owns_pidns = plan->namespaces & CLONE_NEWPID;

	if (owns_pidns && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(err, -errno, "die with the parent");
	if (plan->confined && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(err, -errno, "become undumpable");
	return 0;
}

static int await_parent(const struct beside *beside, struct err *err)
{
	bool moved;
	int r = userns_wait_served(CHANNEL, &moved, err);

	if (r < 0 || !moved)
		return r;
	r = beside_return(beside);
	return r < 0 ? err_sys(err, r, "use all processors again") : 0;
}

/* All is built, and nothing runs yet. The command's filter may be on: none of these calls is
 * one that it tells of, since nobody answers so early. */
static int await_all(const void *data, struct err *err)
{
	const struct containment *c = data;
	int r = await_parent(c->beside, err);

	if (r == 0)
		r = die_with_parent(c->plan, err);
	if (r == 0)
		r = staged_wait(c->plan->staging, CHANNEL, err);
	if (r == 0 && c->plan->net.brokered)
		r = sockets_wait_taken(CHANNEL, err);
	return r;
}

static int detach_mounts(const struct plan *plan, struct err *err)
{
	int r = plan->namespaces & CLONE_NEWNS ? sys_make_private("/") : 0;

	return r < 0 ? userns_refused(err_sys(err, r, "detach from the host's mounts"), err) : 0;
}

/* Whoever ends the supervisor's process group must not end us with it: without
 * a pid namespace nobody would be left to end the command. */
static int leave_group(struct err *err)
{
	return setsid() < 0 ? err_sys(err, -errno, "leave the supervisor's session") : 0;
}

static int story(const struct containment *c, struct landlock *landlock, struct warden_job *job,
		 struct err *err)
{
	const struct plan *plan = c->plan;
	int r = leave_group(err);

	if (r == 0)
		r = userns_enter(plan, CHANNEL, err);
	if (r == 0)
		r = detach_mounts(plan, err);
	if (r == 0)
		r = apply_all(c, landlock, job, err);
	if (r == 0)
		r = enter_cwd(plan, err);
	return r;
}

_Noreturn void contain(const struct containment *c)
{
	const struct plan *plan = c->plan;
	struct warden_report failed = {.kind = WARDEN_FAILED};
	struct landlock landlock = LANDLOCK_NONE;
	struct warden_job job = {
		.argv = plan->argv.items,
		.env = plan->env.items,
		.tool = plan->tool,
		.stands = c->stands,
		.owns_pidns = plan->namespaces & CLONE_NEWPID,
		.observed = step_observed(plan->ops, plan->ops_len),
		.scratch = scratch_path(plan),
		.channel = CHANNEL,
		.terminal = -1,
		.await = await_all,
		.await_data = c,
	};

	if ((!cgroup_is_passed(plan) && cgroup_join(c->cgroup, &failed.err) < 0) ||
	    keep_descriptors(c->channel, c->stdio, plan->staging, &failed.err) < 0) {
		(void)warden_send_report(c->channel, &failed);
		_exit(1);
	}
	if (story(c, &landlock, &job, &failed.err) == 0) {
		job.landlock = landlock.ruleset >= 0 ? &landlock : NULL;
		warden_run(&job);
	}
	(void)warden_send_report(CHANNEL, &failed);
	_exit(1);
}
