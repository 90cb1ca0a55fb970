/* SPDX-License-Identifier: MIT */
#include "engine/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/quick.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/sys.h"
#include "engine/contain.h"
#include "engine/engine.h"
#include "engine/namespace.h"
#include "engine/parked.h"
#include "engine/staged.h"
#include "engine/userns.h"
#include "result/result.h"
#include "warden/protocol.h"
#include "warden/tree.h"

enum { TREE_END_MS = 2000, SPARE_FDS = 32 };

/* bwrap's child waits for nobody. */
static void look_beside(struct sandbox *s)
{
	if (s->plan->engine == ENGINE_NATIVE && !s->stands)
		beside_look(&s->beside);
}

void sandbox_init(struct sandbox *s, const struct plan *plan, bool stands)
{
	*s = (struct sandbox){
		.plan = plan,
		.limits = plan->limits,
		.stands = stands,
		.pidfd = -1,
		.channel = -1,
		.mounts = -1,
		.staged = {-1, -1},
		.bwrap = {.stderr_read = -1, .stderr_write = -1, .null = -1},
		.scratch = SCRATCH_NONE,
		.guard = {.tripwire.signals = -1,
			  .inotify = -1,
			  .quarantine.fd = -1,
			  .rebind = {-1, -1}},
	};
	limiter_init(&s->limiter);
	if (stands) {
		s->limits.cpu_ms = UINT64_MAX; /* of each errand */
		s->limiter.cgroup.spares = true;
	}
	look_beside(s);
}

static int stop_all(void *data, bool stop)
{
	struct sandbox *s = data;

	return warden_send_order(s->channel, WARDEN_SIGNAL_ALL, stop ? SIGSTOP : SIGCONT);
}

int sandbox_prepare(struct sandbox *s, const struct stdio *inner, void (*end)(void *data),
		    void *data, struct events *events, struct err *err)
{
	int r = 0;

	s->power = (struct guard_power){
		.stop = stop_all, .stop_data = s, .end = end, .end_data = data};
	s->events = events;
	if (s->plan->engine == ENGINE_BWRAP)
		r = bwrap_prepare(s->plan, inner, s->stands, &s->bwrap, err);
	if (r == 0 && !cgroup_is_passed(s->plan))
		r = limiter_open(&s->limiter, &s->limits, err);
	return r < 0 ? r : scratch_make(s->plan, &s->scratch, err);
}

bool sandbox_child_owns_all(const struct sandbox *s)
{
	return s->plan->engine == ENGINE_NATIVE && s->plan->namespaces & CLONE_NEWPID;
}

_Noreturn static void become_bwrap(const struct sandbox *s, int channel)
{
	struct warden_report failed = {.kind = WARDEN_FAILED};

	if (cgroup_join(&s->limiter.cgroup, &failed.err) == 0)
		(void)bwrap_exec(&s->bwrap, channel, &failed.err);
	(void)warden_send_report(channel, &failed);
	_exit(1);
}

static bool limits_are_shown(const struct plan *plan)
{
	for (size_t i = 0; i < plan->ops_len; i++)
		if (plan->ops[i].kind == OP_CGROUP_VIEW)
			return true;
	return false;
}

/* Where there is a processor for it, the network is made apart. */
static bool connects(const struct sandbox *s)
{
	return s->beside.on && s->plan->namespaces & CLONE_NEWNET &&
	       s->plan->namespaces & CLONE_NEWUSER;
}

static uint64_t namespaces(const struct sandbox *s)
{
	if (s->plan->engine == ENGINE_BWRAP)
		return 0;
	return s->plan->namespaces & ~(connects(s) ? (uint64_t)CLONE_NEWNET : 0);
}

_Noreturn static void become_child(const struct sandbox *s, int channel, const struct stdio *inner,
				   const struct pty *pty)
{
	if (s->plan->engine == ENGINE_BWRAP)
		become_bwrap(s, channel);
	contain(&(struct containment){.plan = s->plan,
				      .channel = channel,
				      .stdio = inner,
				      .cgroup = &s->limiter.cgroup,
				      .pty = pty,
				      .beside = &s->beside,
				      .connects = connects(s),
				      .stands = s->stands});
}

static int clone_child(struct sandbox *s, const struct stdio *inner, const struct pty *pty,
		       struct err *err)
{
	struct sys_clone_args args = {.pidfd = (uint64_t)(uintptr_t)&s->pidfd,
				      .exit_signal = SIGCHLD};
	int pair[2], r, cgroup = cgroup_clone_fd(&s->limiter.cgroup);

	args.flags = namespaces(s) | CLONE_PIDFD;
	if (cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, -errno, "socketpair");
	s->channel = pair[0];
	/* Orphans of a killed warden come to us. */
	if (!sandbox_child_owns_all(s) && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
		r = err_sys(err, -errno, "become a subreaper");
		fd_close(pair[1]);
		return r;
	}
	r = sys_clone3(&args);
	if (r < 0 && args.flags == CLONE_PIDFD)
		r = sys_fork(&s->pidfd);
	if (r == 0) {
		fd_close(pair[0]);
		become_child(s, pair[1], inner, pty);
	}
	fd_close(pair[1]);
	if (r > 0) {
		beside_send(&s->beside, r);
		s->warden = r;
		return 0;
	}
	if (!(args.flags & CLONE_NEWUSER))
		return err_sys(err, r, "create a process");
	return userns_refused(err_sys(err, r, "create the namespaces"), err);
}

/* Does nobody miss what OP mounts when it goes a moment later? Of the disk of ROOT and of the
 * kernel's own file systems; from any other somebody may want to part as soon as we end. */
static bool may_linger(const struct op *op, dev_t root)
{
	struct stat st;

	if (op->kind == OP_ROOT_BIND || op->kind == OP_STAGED)
		return false; /* of a stage the next run mounts the same layers */
	if ((op->kind != OP_BIND && op->kind != OP_OVERLAY) || !op->src ||
	    str_starts(op->src, "/sys/"))
		return true;
	if (op->id.dev)
		return op->id.dev == root;
	return stat(op->src, &st) < 0 || st.st_dev == root;
}

/* Whoever is the last in a mount namespace takes its mounts down and waits for a grace
 * period of the kernel: the warden would, and we for its end. Instead we hold on to it, and
 * leave that to the kernel. */
static void hold_mounts(struct sandbox *s)
{
	const struct plan *plan = s->plan;
	struct rlimit limit;
	struct stat root;

	if (!(plan->namespaces & CLONE_NEWNS) || stat("/", &root) < 0)
		return;
	for (size_t i = 0; i < plan->ops_len; i++)
		if (!may_linger(&plan->ops[i], root.st_dev))
			return;
	s->mounts = namespace_open(s->warden, s->pidfd, NAMESPACE_MOUNT);
	/* Not for the price of a descriptor that will be missed. */
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < (rlim_t)s->mounts + SPARE_FDS)
		s->mounts = fd_close(s->mounts);
}

static int open_cgroup(struct sandbox *s, struct err *err)
{
	int r = 0;

	if (cgroup_is_passed(s->plan) && !s->has_cgroup)
		r = limiter_open(&s->limiter, &s->limits, err);
	s->has_cgroup = r == 0;
	return r;
}

/* What must be so before the command starts, and needs nothing of the child. */
static int get_ready(struct sandbox *s, struct err *err)
{
	int r = s->is_ready ? 0 : open_cgroup(s, err);

	if (r < 0 || s->is_ready)
		return r;
	r = guard_open(&s->guard, s->plan, &s->power, s->events, err);
	if (r == 0 && s->prelude)
		s->prelude->play(s->prelude->data);
	s->is_ready = r == 0;
	return r;
}

static int pass_cgroup(struct sandbox *s, struct err *err)
{
	int r = open_cgroup(s, err);

	return r < 0 || !cgroup_is_passed(s->plan)
		       ? r
		       : cgroup_pass(&s->limiter.cgroup, s->channel, err);
}

/* First what the child waits for at once: maps, mounts, and the cgroup where it shows that. Then
 * the helper's turn comes: the child needs its network sooner than the rest, unless it has the
 * overlays of a stage to mount, which takes long. */
static int serve_child(struct sandbox *s, struct err *err)
{
	bool shown = limits_are_shown(s->plan);
	int r = userns_grant(s->plan, s->warden, s->channel, err);

	if (r == 0)
		r = userns_serve(s->plan, s->warden, s->pidfd, s->channel, err);
	if (r == 0 && shown)
		r = pass_cgroup(s, err);
	if (r == 0 && connects(s)) {
		net_maker_start(&s->net_maker, s->pidfd, s->channel);
		if (!s->plan->staging)
			sched_yield();
	}
	if (r == 0)
		r = get_ready(s, err);
	if (r == 0 && !shown)
		r = pass_cgroup(s, err);
	if (r < 0)
		return r;
	guard_enter(&s->guard, s->warden, s->pidfd);
	hold_mounts(s);
	return s->plan->staging ? staged_prepare(s->warden, s->pidfd, s->staged, err) : 0;
}

/* The child is served, and goes on when its network is there. */
static int serve(struct sandbox *s, struct err *err)
{
	struct err unused = {0};
	int r = serve_child(s, err), made = net_maker_wait(&s->net_maker, r < 0 ? &unused : err);

	if (r < 0 || made < 0)
		return r < 0 ? r : made;
	return userns_let_go_on(s->channel, s->beside.sent, err);
}

/* Where all processors are busy nothing is gained by doing it later; perhaps one is idle
 * afterwards. */
static int prepare_clone(struct sandbox *s, struct err *err)
{
	int r;

	look_beside(s);
	if (s->beside.on)
		return 0;
	r = get_ready(s, err);
	look_beside(s);
	return r;
}

int sandbox_raise(struct sandbox *s, const struct stdio *inner, const struct pty *pty,
		  struct warden_report *ret_report, struct err *err)
{
	int r;

	be_quick();
	r = prepare_clone(s, err);
	if (r == 0)
		r = clone_child(s, inner, pty, err);
	if (r == 0 && s->plan->net.brokered)
		parked_make_room(); /* its sockets come to us; its limit stays what it is */
	if (r < 0 || s->plan->engine == ENGINE_BWRAP)
		return r; /* the sandbox is further down: nothing can be bound again there */
	r = serve(s, err);
	if (r < 0 || !s->plan->staging)
		return r;
	/* A child that fails before it has mounted says so, or is simply gone: that is seen
	 * when its end is. */
	r = staged_serve(s->plan->staging, s->staged, s->channel, ret_report, err);
	return r == -EPIPE ? 0 : r;
}

void sandbox_kill_warden(struct sandbox *s)
{
	if (s->pidfd >= 0)
		(void)sys_pidfd_send_signal(s->pidfd, SIGKILL);
}

/* Without a pid namespace those inside can end everybody at once, which we cannot: the
 * closer and the warden do when we hang up. Should that take too long, we try. */
bool sandbox_kill(struct sandbox *s, bool has_started)
{
	if (s->hung_up || s->plan->namespaces & CLONE_NEWPID || !has_started ||
	    shutdown(s->channel, SHUT_WR) < 0) {
		sandbox_kill_warden(s);
		return false;
	}
	s->hung_up = true;
	return true;
}

void sandbox_collect(struct sandbox *s, struct usage *ret)
{
	struct rusage usage = {0};

	while (wait4(s->warden, NULL, 0, &usage) < 0 && errno == EINTR)
		;
	if (!sandbox_child_owns_all(s)) {
		(void)shutdown(s->channel, SHUT_WR);
		(void)tree_kill(TREE_END_MS, false);
	}
	*ret = (struct usage){
		.memory_peak = (uint64_t)usage.ru_maxrss * 1024, /* of the largest process */
		.cpu_ms = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
			  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000,
		.pids_peak = USAGE_UNKNOWN,
		.written = (uint64_t)usage.ru_oublock * 512,
	};
}

void sandbox_settle(struct sandbox *s)
{
	scratch_remove(s->plan, &s->scratch);
	if (s->warden > 0)
		guard_finish(&s->guard);
	guard_close(&s->guard);
	s->mounts = fd_close_later(s->mounts);
}

int sandbox_explain(const struct sandbox *s, int r, struct err *err)
{
	if (r == 0 && s->plan->engine == ENGINE_BWRAP && !err->message[0])
		bwrap_explain(&s->bwrap, err);
	if (err->code == ERR_NO_NAMESPACES)
		userns_hint(err);
	if (r < 0)
		return r;
	if (!err->message[0])
		err_set(err, ERR_SYSTEM, -EPIPE, "the sandbox ended before the command started");
	return err->errnum ? -err->errnum : -EPIPE;
}

void sandbox_release(struct sandbox *s)
{
	s->channel = fd_close(s->channel);
	s->pidfd = fd_close(s->pidfd);
	s->mounts = fd_close(s->mounts);
	for (int i = 0; i < 2; i++)
		s->staged[i] = fd_close(s->staged[i]);
	bwrap_release(&s->bwrap);
	limiter_close(&s->limiter);
}
