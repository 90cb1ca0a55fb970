/* SPDX-License-Identifier: MIT */
/* Checks of what limits rest on. */
#include <stddef.h>

#include "base/str.h"
#include "posture/doctor-impl.h"

/* Version 2, and a systemd that could make a scope. */
static void fix_systemd(const struct patient *p, struct finding *f)
{
	if (!p->has_systemd_run)
		finding_fix(f, "install the program /usr/bin/systemd-run");
	else if (!p->facts.has_manager && p->uid != 0)
		finding_fix(f,
			    p->user ? "sudo loginctl enable-linger %s"
				    : "sudo loginctl enable-linger %s   (by name)",
			    p->user ? p->user : "USER");
	else
		finding_fix(f, "ask systemd: systemctl %sstatus", p->uid ? "--user " : "");
}

void check_limits(const struct patient *p, struct finding *f)
{
	if (p->rung == RUNG_SYSTEMD && !p->facts.has_delegation) {
		finding_set(f, HEALTH_WEAK, "systemd hands this user no memory and pids");
		finding_fix(
			f, "printf '[Service]\\nDelegate=cpu memory pids\\n' | sudo install -Dm644 "
			   "/dev/stdin /etc/systemd/system/user@.service.d/pale.conf && "
			   "sudo systemctl daemon-reload   (then log in again)");
		return;
	}
	if (p->rung != RUNG_WATCHDOG) {
		finding_set(f, HEALTH_OK, "held by %s", rung_name(p->rung));
		return;
	}
	if (p->is_blind) {
		finding_set(f, HEALTH_WEAK, "no cgroup is ours, and /proc does not show processes");
		finding_fix(f, "sudo mount -o remount,hidepid=0 /proc");
		f->costs = "memory and cpu cannot be limited";
		return;
	}
	switch (p->facts.cgroup) {
	case CGROUP_NONE:
		finding_set(f, HEALTH_WEAK, "no cgroups are mounted");
		finding_fix(f, "sudo mount -t cgroup2 none /sys/fs/cgroup");
		break;
	case CGROUP_V1:
		finding_set(f, HEALTH_WEAK, "cgroup v1%s", p->uid ? " is for root only" : "");
		finding_fix(f, "%s",
			    p->facts.has_systemd
				    ? "add to the kernel's command line: "
				      "systemd.unified_cgroup_hierarchy=1"
				    : "boot with cgroup v2, delegated to this user, or "
				      "run pale as root");
		break;
	case CGROUP_V2:
		finding_set(f, HEALTH_WEAK, "no cgroup here is ours to write");
		if (p->cgroup_is_readonly)
			finding_fix(f, "give the container a writable /sys/fs/cgroup");
		else if (p->facts.has_systemd)
			fix_systemd(p, f);
		else
			finding_fix(f, "start pale below a cgroup that is delegated to you with "
				       "memory and pids, see cgroups(7)");
		break;
	}
}

static void check_controller(const struct patient *p, bool there, const char *name,
			     const char *option, struct finding *f)
{
	if (p->facts.cgroup == CGROUP_NONE) {
		finding_set(f, HEALTH_WEAK, "not to be seen: no cgroups are mounted");
	} else if (there) {
		finding_set(f, HEALTH_OK, "is there");
	} else {
		finding_set(f, HEALTH_MISSING, "the kernel does not offer it here");
		finding_fix(f,
			    "take cgroup_disable=%s off the kernel's command line, or boot one "
			    "with %s=y",
			    name, option);
	}
}

void check_memory(const struct patient *p, struct finding *f)
{
	check_controller(p, p->facts.has_memory, "memory", "CONFIG_MEMCG", f);
}

void check_pids(const struct patient *p, struct finding *f)
{
	check_controller(p, p->facts.has_pids, "pids", "CONFIG_CGROUP_PIDS", f);
}
