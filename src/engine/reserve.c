/* SPDX-License-Identifier: MIT */
#include "engine/reserve.h"

#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "engine/outbox.h"
#include "engine/parked.h"
#include "plan/plan.h"
#include "warden/errand.h"
#include "warden/protocol.h"
#include "warden/step.h"

#define KEEP_NS 5000000000ull
enum { IOPRIO_PROCESS = 1 };

static bool manner_read(pid_t pid, struct manner *ret)
{
	long n;

	memset(ret, 0, sizeof(*ret));
	n = syscall(SYS_sched_getaffinity, pid, sizeof(ret->cpus), ret->cpus);
	ret->ioprio = (int)syscall(SYS_ioprio_get, IOPRIO_PROCESS, pid);
	if (n < 0 || ret->ioprio < 0 ||
	    syscall(SYS_sched_getattr, pid, &ret->attr, sizeof(ret->attr), 0) < 0)
		return false;
	return true;
}

/* It goes when it sees that its socket has hung up. */
static void dismiss(struct reserve *r)
{
	r->sock = fd_close(r->sock);
	r->pid = 0;
	parked_add(r->parked, r->listener);
	r->listener = -1;
	r->timer.at_ns = LOOP_NEVER;
}

static void on_idle(void *data, short revents)
{
	(void)revents;
	dismiss(data);
}

void reserve_init(struct reserve *r, const struct plan *plan, struct loop *loop,
		  struct parked *parked)
{
	*r = (struct reserve){.sock = -1, .listener = -1};
	if (!step_observed(plan->ops, plan->ops_len) || !(plan->namespaces & CLONE_NEWPID) ||
	    plan->limits.pids != UINT64_MAX)
		return;
	r->loop = loop;
	r->parked = parked;
	r->timer = (struct loop_timer){.at_ns = LOOP_NEVER, .fn = on_idle, .data = r};
	loop_add_timer(loop, &r->timer);
}

void reserve_fill(struct reserve *r, reserve_send *send, void *data)
{
	struct warden_order order = {.kind = WARDEN_SPARE};
	int pair[2];

	if (!r->loop || r->sock >= 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	order.id = r->id = (r->id + 1) | WARDEN_SPARE_ID;
	r->sock = pair[0];
	r->timer.at_ns = clock_mono_ns() + KEEP_NS;
	if (send(data, &order, &pair[1]) < 0)
		dismiss(r);
	fd_close(pair[1]);
}

static bool is_ready(const struct warden_report *report)
{
	return report->kind == WARDEN_LISTENER || report->kind == WARDEN_STARTING;
}

bool reserve_take(struct reserve *r, const struct warden_report *report, int fd, pid_t sender,
		  pid_t warden)
{
	if (r->sock < 0 || report->id != r->id)
		return false;
	if (is_ready(report) && !r->pid && manner_read(warden, &r->manner)) {
		r->pid = sender;
		r->listener = fd;
		return true;
	}
	fd_close(fd);
	dismiss(r);
	return true;
}

static bool is_fit(const struct reserve *r)
{
	struct manner now;

	return manner_read(r->pid, &now) && memcmp(&now, &r->manner, sizeof(now)) == 0;
}

/* With a terminal or limits there is more to it. */
static bool is_for_spare(const struct errand *errand)
{
	return !errand->pty && !errand->is_tool && !errand_is_held(errand);
}

void reserve_offer(struct reserve *r, const struct errand *errand, const struct iovec *parts,
		   size_t n_parts, const int *fds, size_t n_fds)
{
	struct outbox none = {0};

	r->asked = r->pid && is_for_spare(errand);
	r->has_it = r->asked && outbox_send(&none, r->sock, parts, n_parts, fds, n_fds) == 0;
	outbox_release(&none);
}

struct given reserve_give(struct reserve *r, bool may_begin)
{
	struct given given = {.listener = -1};

	if (r->has_it && may_begin && is_fit(r) &&
	    send(r->sock, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1) {
		given = (struct given){.id = r->id, .listener = r->listener, .pid = r->pid};
		r->listener = -1;
		parked_add(r->parked, r->sock);
		r->sock = -1;
	}
	if (r->asked)
		dismiss(r);
	r->asked = r->has_it = false;
	return given;
}

void reserve_release(struct reserve *r)
{
	if (!r->loop)
		return;
	dismiss(r);
	loop_remove_timer(r->loop, &r->timer);
	r->loop = NULL;
}
