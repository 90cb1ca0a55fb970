/* SPDX-License-Identifier: MIT */
#include "plan/fixtures.h"

#include <sched.h>

#include "plan/host.h"
#include "plan/op.h"
#include "policy/outer.h"

#define DEV_TMPFS (1ull << 20)

/* With the host's root, nothing of ours may be made but on /run. */
static const char *aux_path(bool whole_root)
{
	return whole_root ? "/run/.pale" : "/.pale";
}

bool fixture_is_made(bool whole_root, const char *path)
{
	return whole_root && str_eq(path, "/run");
}

static int begin_root(struct plan *plan, const struct fixtures *f, const struct host *host)
{
	int r;

	if (f->whole_root) {
		r = plan_add(plan, OP_ROOT_BIND, "/", "/", f->write_root ? 0 : OP_RDONLY);
		if (r == 0)
			r = plan_add_tmpfs(plan, "/run", f->tmpfs, 0755);
	} else {
		r = plan_add_tmpfs_root(plan, f->tmpfs);
		for (size_t i = 0; i < host->dirs_len && r == 0; i++)
			if (host->dirs[i].link)
				r = plan_add(plan, OP_SYMLINK, host->dirs[i].link,
					     host->dirs[i].path, 0);
	}
	return r < 0 ? r : plan_add_mode(plan, OP_AUX, aux_path(f->whole_root), 0700);
}

/* Who is nobody outside is kept from most of /proc by its permissions. What is
 * left: settings that belong to our own namespaces, and other people's keys. */
static const char *const proc_readonly[] = {"/proc/sys", NULL};
static const char *const proc_hidden[] = {"/proc/keys", "/proc/scsi", "/proc/asound", NULL};
/* Root outside is not. */
static const char *const proc_readonly_root[] = {
	"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sysrq-trigger", NULL,
};
static const char *const proc_hidden_root[] = {
	"/proc/acpi", "/proc/kcore", "/proc/sched_debug", "/proc/timer_list", NULL,
};

static int each(struct plan *plan, enum op_kind kind, const char *const *paths)
{
	int r = 0;

	for (; *paths && r == 0; paths++)
		r = plan_add(plan, kind, NULL, *paths, OP_NOEXEC | OP_OPTIONAL);
	return r;
}

static int begin_proc(struct plan *plan, const struct fixtures *f)
{
	bool own = plan->namespaces & CLONE_NEWPID, root = plan->idmap == IDMAP_IDENTITY;
	int r;

	r = own ? plan_add(plan, OP_PROC, NULL, "/proc", 0)
		: plan_add(plan, OP_BIND, "/proc", "/proc", OP_NOEXEC);
	if (r == 0)
		r = plan_add(plan, OP_LIMIT_USERNS, NULL, NULL, f->nested ? OP_NESTED : 0);
	if (r == 0 && !own)
		r = plan_add(plan, OP_READONLY, NULL, "/proc", OP_NOEXEC);
	if (r == 0 && own)
		r = each(plan, OP_READONLY, proc_readonly);
	if (r == 0 && own && root)
		r = each(plan, OP_READONLY, proc_readonly_root);
	if (r == 0)
		r = each(plan, OP_HIDE, proc_hidden);
	if (r == 0 && root)
		r = each(plan, OP_HIDE, proc_hidden_root);
	return r;
}

static int begin_dev(struct plan *plan, const struct fixtures *f)
{
	static const char *const nodes[] = {"/dev/null",   "/dev/zero",    "/dev/full",
					    "/dev/random", "/dev/urandom", "/dev/tty"};
	static const char *const links[][2] = {
		{"/dev/fd", "/proc/self/fd"},       {"/dev/stdin", "/proc/self/fd/0"},
		{"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"},
		{"/dev/ptmx", "pts/ptmx"},
	};
	int r = 0;

	if (f->whole_root)
		r = plan_add_tmpfs(plan, "/dev", DEV_TMPFS, 0755);
	for (size_t i = 0; i < array_len(nodes) && r == 0; i++)
		r = plan_add(plan, OP_DEVICE, NULL, nodes[i], OP_FILE);
	for (size_t i = 0; i < array_len(links) && r == 0; i++)
		r = plan_add(plan, OP_SYMLINK, links[i][1], links[i][0], 0);
	if (r == 0)
		r = plan_add(plan, OP_DEVPTS, NULL, "/dev/pts", 0);
	if (r == 0)
		r = f->whole_root ? plan_add_apart(plan, "/dev/shm", f->tmpfs, 01777)
				  : plan_add_mode(plan, OP_PRIVATE, "/dev/shm", 01777);
	return r;
}

/* Runtimes size themselves by what they see there. */
static int add_cgroup_view(struct plan *plan)
{
	const struct limits *limits = &plan->limits;
	int r;

	if (plan->engine != ENGINE_NATIVE || limits->site.rung == RUNG_WATCHDOG ||
	    (limits->memory == UINT64_MAX && limits->pids == UINT64_MAX))
		return 0;
	if (limits->site.rung != RUNG_CGROUP1)
		return plan_add(plan, OP_CGROUP_VIEW, NULL, "/sys/fs/cgroup", OP_RDONLY);
	r = plan_add(plan, OP_CGROUP_VIEW, "memory", "/sys/fs/cgroup/memory", OP_RDONLY);
	return r < 0 ? r : plan_add(plan, OP_CGROUP_VIEW, "pids", "/sys/fs/cgroup/pids", OP_RDONLY);
}

/* The root's own mount ends up read-only; /run does not. */
static int add_note(struct plan *plan, bool whole_root)
{
	int r = plan_add(plan, OP_NOTE, plan->note, whole_root ? OUTER_IN_RUN : OUTER_AT_ROOT, 0);

	return r < 0 || !whole_root ? r
				    : plan_add(plan, OP_READONLY, NULL, OUTER_IN_RUN, OP_NOEXEC);
}

int fixtures_begin(struct plan *plan, const struct fixtures *fixtures, const struct host *host)
{
	int r = begin_root(plan, fixtures, host);

	if (r == 0)
		r = begin_proc(plan, fixtures);
	return r < 0 ? r : begin_dev(plan, fixtures);
}

int fixtures_end(struct plan *plan, const struct fixtures *fixtures)
{
	int r = plan_add(plan, OP_HIDE, NULL, aux_path(fixtures->whole_root), 0);

	/* Whose control groups are the user's could leave that of the run, and end others. */
	if (r == 0 && fixtures->write_root)
		r = plan_add(plan, OP_READONLY, NULL, "/sys", OP_NOEXEC | OP_OPTIONAL);
	if (r == 0)
		r = add_cgroup_view(plan);
	if (r == 0 && plan->note)
		r = add_note(plan, fixtures->whole_root);
	if (r == 0 && !fixtures->whole_root)
		r = plan_add(plan, OP_READONLY, NULL, "/", 0);
	return r < 0 ? r : plan_add(plan, OP_PIVOT, NULL, NULL, 0);
}
