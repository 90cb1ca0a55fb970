/* SPDX-License-Identifier: MIT */
/*
 * rung - by what means limits hold on this host, and where.
 *
 * The best that is there: a cgroup v2 subtree that is ours to write, a scope
 * that systemd makes for us, cgroup v1 as root, or none of them: then what the
 * kernel counts per process, and a watchdog that adds up.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct err;

#define SYSTEMD_RUN "/usr/bin/systemd-run"
/* Set by us for the pale that systemd-run starts: it looks no further. */
#define IN_SCOPE "PALE_IN_SCOPE"

enum rung { RUNG_WATCHDOG, RUNG_CGROUP1, RUNG_SYSTEMD, RUNG_CGROUP2 };

/* The folders in which a run's own cgroups are made. */
enum { CG_MEMORY, CG_PIDS, CG_CPU, CG_DIRS }; /* v2 has one for all: the first */

struct cgroup_site {
	enum rung rung;
	/* NULL: not there. A scope that is still to be made has none. */
	char *dirs[CG_DIRS];
	bool is_blind; /* RUNG_WATCHDOG, and see rung_sees_processes() */
};

/* Where /proc/self/cgroup says we are (TEXT), below MOUNT. V2: MOUNT is the
 * unified hierarchy; else it holds one folder per controller of v1. IN_SCOPE:
 * our own cgroup was made for this run and is delegated to us. */
int cgroup_site_find(const char *mount, bool v2, const char *text, uid_t uid, bool in_scope,
		     struct cgroup_site *ret, struct err *err);
int cgroup_site_probe(uid_t uid, struct cgroup_site *ret, struct err *err);
void cgroup_site_release(struct cgroup_site *site);
const char *rung_name(enum rung rung);
/* Can what others do be added up? Not where /proc shows nobody else's processes (hidepid), of which
 * PID 1 of a sandbox is one, or not what descends from whom. */
bool rung_sees_processes(void);
