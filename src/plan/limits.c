/* SPDX-License-Identifier: MIT */
/*
 * Which limit is held by what. A cgroup counts the whole tree, and holds. Below
 * that, processes are counted by the kernel for each user namespace, so that
 * limit holds as well; memory and CPU time are only added up now and then.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "plan/compiler.h"
#include "plan/domain.h"
#include "plan/host.h"
#include "plan/layout.h"
#include "plan/op.h"
#include "plan/plan.h"
#include "policy/spec.h"

static bool is_set(uint64_t limit)
{
	return limit != SPEC_UNLIMITED;
}

/* A scope takes systemd tens of milliseconds: only for what needs it. */
static enum rung choose_rung(const struct compiler *c)
{
	enum rung rung = c->host->cgroup.rung;

	if (rung == RUNG_SYSTEMD && !is_set(c->spec->memory) && !is_set(c->spec->cpu))
		return RUNG_WATCHDOG;
	return rung;
}

static int copy_site(struct limits *limits, const struct cgroup_site *site, enum rung rung)
{
	limits->site.rung = rung;
	limits->site.is_blind = site->is_blind;
	for (size_t i = 0; i < CG_DIRS && rung != RUNG_WATCHDOG; i++) {
		limits->site.dirs[i] = site->dirs[i] ? strdup(site->dirs[i]) : NULL;
		if (site->dirs[i] && !limits->site.dirs[i])
			return -ENOMEM;
	}
	return 0;
}

/* Is the command the host's uid 0 underneath? */
static bool is_host_root(const struct plan *plan)
{
	return plan->uid == 0 && (plan->idmap == IDMAP_IDENTITY || plan->idmap == IDMAP_OWNER);
}

#define LEAVES "a cgroup, which this command could write to, and so leave"

/* As a rule nothing of cgroups can be written: /sys is read-only, by its mount. */
static bool can_leave(const struct compiler *c)
{
	const struct plan *plan = c->plan;

	if (!plan->confined || plan->limits.site.rung == RUNG_WATCHDOG)
		return false;
	if (plan->engine == ENGINE_LANDLOCK)
		return layout_writes_root(c->spec) && plan->uid == c->host->uid;
	/* By a mount of his own. An ordinary user's cgroup is his. */
	return c->spec->nested && (c->host->uid != 0 || is_host_root(plan));
}

/* Does the kernel count the processes of the command's user namespace? */
static bool is_counted(const struct plan *plan)
{
	return plan->namespaces & CLONE_NEWUSER && !is_host_root(plan);
}

static int judge_pids(struct compiler *c)
{
	struct limits *limits = &c->plan->limits;
	const char *key = dim_name(DIM_PIDS);

	if (!is_set(c->spec->pids))
		return 0;
	limits->pids = c->spec->pids + limits->own_pids;
	if (limits->site.rung != RUNG_WATCHDOG && !can_leave(c))
		plan_verdict(c->plan, key, ENFORCED, rung_name(limits->site.rung));
	else if (is_counted(c->plan))
		plan_verdict(c->plan, key, ENFORCED, "RLIMIT_NPROC of a user namespace of its own");
	else if (can_leave(c))
		return judge_give_up(c, DIM_PIDS, DEGRADED, LEAVES);
	else
		return judge_give_up(
			c, DIM_PIDS, UNENFORCED,
			c->plan->namespaces & CLONE_NEWUSER
				? "no cgroup, and the kernel counts no processes of root's"
				: "no cgroup, and no user namespace that would count");
	return 0;
}

/* Memory and CPU time: the cgroup's, or what the watchdog adds up. */
static int judge_counted(struct compiler *c, enum dim dim, uint64_t value, const char *watched)
{
	enum rung rung = c->plan->limits.site.rung;

	if (!is_set(value))
		return 0;
	if (c->plan->limits.site.is_blind)
		return judge_give_up(c, dim, UNENFORCED,
				     "no cgroup, and /proc does not show what would be added up");
	if (rung == RUNG_WATCHDOG ||
	    (rung == RUNG_CGROUP1 && dim == DIM_CPU && !c->plan->limits.site.dirs[CG_CPU]))
		return judge_give_up(c, dim, DEGRADED, watched);
	if (can_leave(c))
		return judge_give_up(c, dim, DEGRADED, LEAVES);
	plan_verdict(c->plan, dim_name(dim), ENFORCED, rung_name(rung));
	return 0;
}

/* Scratch is a tmpfs, whose size holds. Other folders have no such bound. bwrap makes a tmpfs for
 * each. */
static int judge_disk(struct compiler *c)
{
	const struct spec *spec = c->spec;
	bool scratch_only = spec->paths_writable.len == 0 && spec->caches.len == 0 &&
			    !c->plan->throws_away &&
			    (spec->filesystem == FILESYSTEM_NONE ||
			     spec->filesystem == FILESYSTEM_READONLY);

	if (!is_set(spec->disk))
		return 0;
	if (scratch_only && c->plan->engine == ENGINE_BWRAP)
		return judge_give_up(c, DIM_DISK, DEGRADED, "size of each private folder's tmpfs");
	if (scratch_only) {
		plan_verdict(c->plan, dim_name(DIM_DISK), ENFORCED, "size of the tmpfs");
		return 0;
	}
	if (c->plan->stage)
		return judge_give_up(
			c, DIM_DISK, DEGRADED,
			"size of the tmpfs; what the stage holds is measured before the "
			"run; then the size of each file (RLIMIT_FSIZE)");
	return judge_give_up(c, DIM_DISK, DEGRADED,
			     "size of the tmpfs; elsewhere the size of each file (RLIMIT_FSIZE)");
}

/* The warden counts as well, and its closer: see warden/closer.h. */
static unsigned count_own(const struct compiler *c)
{
	bool closer = c->plan->confined && !(c->plan->namespaces & CLONE_NEWPID) &&
		      domain_flags(c->spec, c->host) & OP_SIGNALS;

	return closer ? 2 : 1;
}

int limits_compile(struct compiler *c)
{
	const struct spec *spec = c->spec;
	struct limits *limits = &c->plan->limits;
	int r;

	limits->memory = spec->memory;
	limits->cpu_ms = spec->cpu;
	limits->pids = SPEC_UNLIMITED;
	limits->own_pids = count_own(c);
	r = copy_site(limits, &c->host->cgroup, choose_rung(c));
	if (is_set(spec->timeout))
		plan_verdict(c->plan, dim_name(DIM_TIMEOUT), ENFORCED, "timer of the supervisor");
	if (r == 0)
		r = judge_counted(c, DIM_CPU, spec->cpu,
				  "no cgroup: the CPU time of the processes is added up");
	if (r == 0)
		r = judge_counted(c, DIM_MEMORY, spec->memory,
				  "no cgroup: the memory of the processes is added up");
	if (r == 0)
		r = judge_pids(c);
	return r < 0 ? r : judge_disk(c);
}

int limits_emit(struct compiler *c)
{
	const struct limits *limits = &c->plan->limits;
	int r = 0;

	if (is_set(limits->pids) && c->plan->namespaces & CLONE_NEWUSER &&
	    (limits->site.rung == RUNG_WATCHDOG || can_leave(c)))
		r = plan_add_size(c->plan, OP_LIMIT_PIDS, limits->pids);
	if (r == 0 && c->weak & DIM_BIT(DIM_DISK))
		r = plan_add_size(c->plan, OP_LIMIT_FILE, c->spec->disk);
	return r;
}
