/* SPDX-License-Identifier: MIT */
#include "engine/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/sys.h"
#include "engine/cgroup-file.h"
#include "engine/userns.h"
#include "plan/plan.h"
#include "result/result.h"

#define PREFIX "pale-"
enum { TRIES = 8, REMOVE_TRIES = 100 };

void cgroup_init(struct cgroup *cg)
{
	*cg = (struct cgroup){.rung = RUNG_WATCHDOG};
	for (size_t i = 0; i < CG_DIRS; i++)
		cg->base[i] = cg->dir[i] = cg->tasks[i] = -1;
	cg->memory_peak = cg->pids_peak = cg->cpu_used = -1;
}

static bool is_v2(const struct cgroup *cg)
{
	return cg->rung == RUNG_CGROUP2 || cg->rung == RUNG_SYSTEMD;
}

/* A folder is removed only while it holds no process, and only when its owner
 * has let go of the lock: a new one, not locked yet, is made again. */
static void sweep_one(const struct cgroup *cg, const char *name)
{
	_cleanup_(fd_closep) int dir = openat(cg->base[0], name,
					      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0 || flock(dir, LOCK_EX | LOCK_NB) < 0)
		return;
	/* The locked one last, and only when the others are gone: they are found by it. */
	for (size_t i = CG_DIRS; i-- > 0;)
		if (cg->base[i] >= 0 && unlinkat(cg->base[i], name, AT_REMOVEDIR) < 0 &&
		    errno != ENOENT)
			return;
}

/* A folder counts those in it, where it counts at all. */
static bool has_neighbours(const struct cgroup *cg)
{
	struct stat st;

	return fstat(cg->base[0], &st) < 0 || st.st_nlink != 2;
}

static void sweep(const struct cgroup *cg)
{
	char buf[4096] __attribute__((aligned(8)));
	int n;

	while ((n = sys_getdents(cg->base[0], buf, sizeof(buf))) > 0) {
		for (int at = 0; at < n;) {
			const struct sys_dirent *entry = (const void *)(buf + at);

			if (str_starts(entry->name, PREFIX))
				sweep_one(cg, entry->name);
			at += entry->len;
		}
	}
}

static int make_name(char name[32])
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return -EIO;
	snprintf(name, 32, PREFIX "%016llx", (unsigned long long)number);
	return 0;
}

static int make_dir(struct cgroup *cg, size_t i)
{
	if (mkdirat(cg->base[i], cg->name, 0755) < 0)
		return -errno;
	cg->dir[i] = openat(cg->base[i], cg->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (cg->dir[i] < 0 || (i == 0 && flock(cg->dir[i], LOCK_EX | LOCK_NB) < 0)) {
		int r = -errno;

		cg->dir[i] = fd_close(cg->dir[i]);
		(void)unlinkat(cg->base[i], cg->name, AT_REMOVEDIR);
		return r;
	}
	return 0;
}

/* The first one's lock and name stand for all: the others are swept with it. */
static int make_locked(struct cgroup *cg)
{
	int r = make_dir(cg, 0);

	/* Swept away between mkdir and lock, it has no name left. */
	if (r == 0 && faccessat(cg->base[0], cg->name, F_OK, 0) < 0)
		r = -errno;
	return r;
}

static int make_first(struct cgroup *cg, struct err *err)
{
	int r = -ENOENT;

	if (cg->sweeps)
		sweep(cg);
	for (int n = 0; n < TRIES && (r == -ENOENT || r == -EAGAIN || r == -EEXIST); n++) {
		cg->dir[0] = fd_close(cg->dir[0]);
		if (make_name(cg->name) < 0)
			return err_set(err, ERR_SYSTEM, -EIO, "no random numbers");
		r = make_locked(cg);
	}
	return r < 0 ? err_sys(err, r, "make a cgroup") : 0;
}

static int open_base(struct cgroup *cg, size_t i, const char *path, struct err *err)
{
	cg->base[i] = fd_open(path, O_RDONLY | O_DIRECTORY);
	return cg->base[i] < 0 ? err_sys(err, -errno, "open the cgroup %s", path) : 0;
}

static int set_number(const struct cgroup *cg, size_t i, const char *name, uint64_t value,
		      struct err *err)
{
	char text[32];
	int r;

	if (value == UINT64_MAX)
		return 0;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	r = cgroup_file_write(cg->dir[i], name, text);
	return r < 0 ? err_sys(err, r, "set %s to %s", name, text) : 0;
}

/* Without swap accounting there is nothing to bound. */
static int optional(int r)
{
	return r == -ENOENT ? 0 : r;
}

static int limit_v2(const struct cgroup *cg, const struct limits *limits, struct err *err)
{
	int r = set_number(cg, 0, "pids.max", limits->pids, err);

	if (r == 0)
		r = set_number(cg, 0, "memory.max", limits->memory, err);
	if (r == 0 && limits->memory != UINT64_MAX)
		r = optional(set_number(cg, 0, "memory.swap.max", 0, err));
	if (r == 0 && limits->memory != UINT64_MAX)
		r = set_number(cg, 0, "memory.oom.group", cg->spares ? 0 : 1, err);
	return r;
}

static int limit_v1(const struct cgroup *cg, const struct limits *limits, struct err *err)
{
	int r = set_number(cg, CG_PIDS, "pids.max", limits->pids, err);

	if (r == 0)
		r = set_number(cg, CG_MEMORY, "memory.limit_in_bytes", limits->memory, err);
	if (r == 0)
		r = optional(set_number(cg, CG_MEMORY, "memory.memsw.limit_in_bytes",
					limits->memory, err));
	return r;
}

/* The scope is ours alone, but a cgroup with processes hands nothing down. */
static int prepare_scope(int base, struct err *err)
{
	_cleanup_(fd_closep) int dir = -1;
	int r = 0;

	if (mkdirat(base, "supervisor", 0755) < 0 && errno != EEXIST)
		return err_sys(err, -errno, "make a cgroup for the supervisor");
	dir = openat(base, "supervisor", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_sys(err, -errno, "open the supervisor's cgroup");
	r = cgroup_file_write(dir, "cgroup.procs", "0");
	if (r == 0)
		r = cgroup_file_write(base, "cgroup.subtree_control", "+memory +pids");
	return r < 0 ? err_sys(err, r, "prepare the systemd scope") : 0;
}

static int open_v2(struct cgroup *cg, const struct limits *limits, struct err *err)
{
	int r = open_base(cg, 0, limits->site.dirs[0], err);

	if (r == 0 && cg->rung == RUNG_SYSTEMD)
		r = prepare_scope(cg->base[0], err);
	cg->sweeps = r == 0 && has_neighbours(cg);
	if (r == 0)
		r = make_first(cg, err);
	return r < 0 ? r : limit_v2(cg, limits, err);
}

static int open_tasks(struct cgroup *cg, size_t i, struct err *err)
{
	cg->tasks[i] = openat(cg->dir[i], "tasks", O_WRONLY | O_CLOEXEC);
	return cg->tasks[i] < 0 ? err_sys(err, -errno, "open the cgroup's tasks") : 0;
}

static int open_v1(struct cgroup *cg, const struct limits *limits, struct err *err)
{
	int r = open_base(cg, 0, limits->site.dirs[0], err);

	cg->sweeps = r == 0 && has_neighbours(cg);
	for (size_t i = 1; i < CG_DIRS && r == 0; i++)
		if (limits->site.dirs[i])
			r = open_base(cg, i, limits->site.dirs[i], err);
	if (r == 0)
		r = make_first(cg, err);
	for (size_t i = 1; i < CG_DIRS && r == 0; i++) {
		if (cg->base[i] < 0)
			continue;
		r = make_dir(cg, i);
		if (r < 0)
			err_sys(err, r, "make a cgroup in %s", limits->site.dirs[i]);
	}
	for (size_t i = 0; i < CG_DIRS && r == 0; i++)
		if (cg->dir[i] >= 0)
			r = open_tasks(cg, i, err);
	return r < 0 ? r : limit_v1(cg, limits, err);
}

/* Here there is time; at the end somebody waits. A kernel may count neither peak; CPU time only
 * matters to a limit. */
static int open_counters(struct cgroup *cg, const struct limits *limits, struct err *err)
{
	cg->memory_peak = openat(cg->dir[0],
				 is_v2(cg) ? "memory.peak" : "memory.max_usage_in_bytes",
				 O_RDONLY | O_CLOEXEC);
	cg->pids_peak = openat(cg->dir[is_v2(cg) ? 0 : CG_PIDS], "pids.peak", O_RDONLY | O_CLOEXEC);
	if (is_v2(cg) || cg->dir[CG_CPU] < 0)
		return 0;
	cg->cpu_used = openat(cg->dir[CG_CPU], "cpuacct.usage", O_RDONLY | O_CLOEXEC);
	return cg->cpu_used < 0 && limits->cpu_ms != UINT64_MAX
		       ? err_sys(err, -errno, "open the cgroup's count of CPU time")
		       : 0;
}

int cgroup_open(struct cgroup *cg, const struct limits *limits, struct err *err)
{
	int r;

	cg->rung = limits->site.rung;
	if (cg->rung == RUNG_WATCHDOG)
		return 0;
	r = is_v2(cg) ? open_v2(cg, limits, err) : open_v1(cg, limits, err);
	return r == 0 ? open_counters(cg, limits, err) : r;
}

int cgroup_clone_fd(const struct cgroup *cg)
{
	return is_v2(cg) ? cg->dir[0] : -1;
}

int cgroup_join(const struct cgroup *cg, struct err *err)
{
	for (size_t i = 0; i < CG_DIRS; i++)
		if (cg->tasks[i] >= 0 && write(cg->tasks[i], "0", 1) != 1)
			return err_sys(err, -errno, "join the cgroup");
	return 0;
}

bool cgroup_is_passed(const struct plan *plan)
{
	return plan->limits.site.rung == RUNG_CGROUP1 && plan->engine == ENGINE_NATIVE &&
	       userns_serves_mounts(plan);
}

int cgroup_pass(const struct cgroup *cg, int channel, struct err *err)
{
	int fds[CG_DIRS];
	size_t n = 0;

	for (size_t i = 0; i < CG_DIRS; i++)
		if (cg->tasks[i] >= 0)
			fds[n++] = cg->tasks[i];
	return userns_pass(channel, PASSED_CGROUP, fds, n, err);
}

int cgroup_join_passed(int *fds, size_t len, struct err *err)
{
	int r = len > 0 ? 0 : err_set(err, ERR_SYSTEM, -EPROTO, "the supervisor sent no cgroup");

	for (size_t i = 0; i < len; i++) {
		if (r == 0 && write(fds[i], "0", 1) != 1)
			r = err_sys(err, -errno, "join the cgroup");
		fds[i] = fd_close(fds[i]);
	}
	return r;
}

bool cgroup_counts_cpu(const struct cgroup *cg)
{
	return is_v2(cg) || cg->cpu_used >= 0;
}

uint64_t cgroup_cpu_ms(const struct cgroup *cg)
{
	uint64_t value;

	if (is_v2(cg))
		return cgroup_file_field(cg->dir[0], "cpu.stat", "usage_usec", &value) == 0
			       ? value / 1000
			       : 0;
	return cgroup_file_number_of(cg->cpu_used, &value) == 0 ? value / 1000000 : 0;
}

int cgroup_watch_oom(const struct cgroup *cg)
{
	_cleanup_(fd_closep) int control = -1;
	_cleanup_(fd_closep) int event = -1;
	char text[64];

	if (cg->rung != RUNG_CGROUP1)
		return -1;
	event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	control = openat(cg->dir[CG_MEMORY], "memory.oom_control", O_RDONLY | O_CLOEXEC);
	if (event < 0 || control < 0)
		return -1;
	snprintf(text, sizeof(text), "%d %d", event, control);
	return cgroup_file_write(cg->dir[CG_MEMORY], "cgroup.event_control", text) < 0
		       ? -1
		       : take_fd(event);
}

uint64_t cgroup_ooms(const struct cgroup *cg)
{
	uint64_t kills = 0;

	if (is_v2(cg))
		(void)cgroup_file_field(cg->dir[0], "memory.events", "oom_kill", &kills);
	else if (cg->rung == RUNG_CGROUP1)
		(void)cgroup_file_field(cg->dir[CG_MEMORY], "memory.oom_control", "oom_kill",
					&kills);
	return kills;
}

uint64_t cgroup_forks_refused(const struct cgroup *cg)
{
	uint64_t refused = 0;

	if (cg->rung != RUNG_WATCHDOG)
		(void)cgroup_file_field(cg->dir[is_v2(cg) ? 0 : CG_PIDS], "pids.events", "max",
					&refused);
	return refused;
}

void cgroup_usage(const struct cgroup *cg, unsigned own_pids, struct usage *usage)
{
	uint64_t value;

	if (cg->rung == RUNG_WATCHDOG)
		return;
	if (cgroup_file_number_of(cg->memory_peak, &value) == 0)
		usage->memory_peak = value;
	if (cgroup_file_number_of(cg->pids_peak, &value) == 0)
		usage->pids_peak = value > own_pids ? value - own_pids : 0;
	if (cgroup_counts_cpu(cg))
		usage->cpu_ms = cgroup_cpu_ms(cg);
}

/* The last process may still be on its way out. */
static bool remove_dir(int base, const char *name)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < REMOVE_TRIES; i++) {
		if (unlinkat(base, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

void cgroup_close(struct cgroup *cg)
{
	bool gone = true;

	fd_close(cg->memory_peak);
	fd_close(cg->pids_peak);
	fd_close(cg->cpu_used);
	/* The first one stays while another does: the next run finds them by it. */
	for (size_t i = CG_DIRS; i-- > 0;) {
		if (cg->dir[i] >= 0 && (i > 0 || gone))
			gone &= remove_dir(cg->base[i], cg->name);
		fd_close(cg->tasks[i]);
		fd_close(cg->dir[i]);
		fd_close(cg->base[i]);
	}
	cgroup_init(cg);
}
