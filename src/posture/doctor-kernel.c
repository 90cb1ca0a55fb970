/* SPDX-License-Identifier: MIT */
/* Checks of the kernel and of what it lets us do. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "plan/host.h"
#include "plan/plan.h"
#include "posture/doctor-impl.h"
#include "posture/posture.h"

#define NOT_TRIED "not tried, since user namespaces do not work"

/* Do commands here run on namespaces of our own making? */
static bool needs_native(const struct patient *p)
{
	return !p->posture || p->posture->refused ||
	       (p->posture->engine == ENGINE_NATIVE && !p->posture->is_inside);
}

void check_kernel(const struct patient *p, struct finding *f)
{
	bool old = p->facts.major < 5 || (p->facts.major == 5 && p->facts.minor < 15);

	f->needed = true;
	finding_set(f, old ? HEALTH_MISSING : HEALTH_OK, "Linux %s", p->facts.kernel);
	if (old)
		finding_fix(f, "boot Linux 5.15 or newer");
}

void check_calls(const struct patient *p, struct finding *f)
{
	f->needed = !doctor_is_inside(p) || needs_native(p);
	if (p->has_clone3 && p->has_openat2 && p->has_pidfd) {
		finding_set(f, HEALTH_OK, "clone3, openat2 and pidfd_open are there");
		return;
	}
	finding_set(f, HEALTH_MISSING, "refused or not there:%s%s%s",
		    p->has_clone3 ? "" : " clone3", p->has_openat2 ? "" : " openat2",
		    p->has_pidfd ? "" : " pidfd_open");
	finding_fix(f, "%s",
		    p->facts.is_filtered
			    ? "start the container with --security-opt seccomp=unconfined"
			    : "boot Linux 5.15 or newer");
}

/* The first step without which no sandbox is made; TRIAL_COUNT_: all worked. */
static enum trial_step failed_step(const struct trial *trial)
{
	static const enum trial_step steps[] = {TRIAL_CLONE, TRIAL_MAPS, TRIAL_PRIVATE,
						TRIAL_TMPFS};

	for (size_t i = 0; i < array_len(steps); i++)
		if (trial->errnum[steps[i]])
			return steps[i];
	return TRIAL_COUNT_;
}

static bool apparmor_restricts(const struct facts *facts)
{
	return facts->apparmor_userns > 0 && !facts->may_admin && !facts->apparmor_named;
}

static void fix_userns(const struct patient *p, enum trial_step step, struct finding *f)
{
	if (p->facts.max_userns == 0 || (p->facts.userns_clone == 0 && !p->facts.may_admin) ||
	    apparmor_restricts(&p->facts))
		return; /* a check of its own tells */
	if (p->facts.is_chrooted)
		finding_fix(f, "leave the chroot: the kernel allows no user namespaces in one");
	else if (p->facts.is_filtered)
		finding_fix(f, "start the container with --security-opt seccomp=unconfined");
	else if (p->trial.errnum[step] == ENOSPC)
		finding_fix(f, "outside of this container: sudo sysctl -w "
			       "user.max_user_namespaces=10000");
	else if (step == TRIAL_MAPS && p->uid == 0)
		finding_fix(f, "this root has too few ids: run pale as an ordinary user");
	else
		finding_fix(f, "see which security module refuses it: sudo dmesg | tail");
}

void check_userns(const struct patient *p, struct finding *f)
{
	static const char *const what[] = {
		[TRIAL_CLONE] = "cannot be made",
		[TRIAL_MAPS] = "cannot be given ids",
		[TRIAL_PRIVATE] = "give no right to change mounts",
		[TRIAL_TMPFS] = "give no right to mount a tmpfs",
	};
	enum trial_step step = failed_step(&p->trial);

	f->needed = needs_native(p);
	if (step == TRIAL_COUNT_) {
		finding_set(f, HEALTH_OK, "they work");
		return;
	}
	finding_set(f, HEALTH_MISSING, "they %s: %s", what[step], strerror(p->trial.errnum[step]));
	fix_userns(p, step, f);
}

static void fix_sysctl(struct finding *f, const char *setting)
{
	finding_fix(f, "sudo sysctl -w %s   (and in /etc/sysctl.d/50-pale.conf, to keep it)",
		    setting);
}

void check_userns_max(const struct patient *p, struct finding *f)
{
	if (p->facts.max_userns == 0) {
		f->needed = needs_native(p);
		finding_set(f, HEALTH_MISSING, "it is 0");
		fix_sysctl(f, "user.max_user_namespaces=10000");
	} else if (p->facts.max_userns < 0) {
		finding_set(f, HEALTH_WEAK, "this kernel has no such setting");
		finding_fix(f, "a kernel with CONFIG_USER_NS=y, and /proc mounted");
	} else {
		finding_set(f, HEALTH_OK, "it is %ld", p->facts.max_userns);
	}
}

void check_userns_clone(const struct patient *p, struct finding *f)
{
	if (p->facts.userns_clone != 0) {
		finding_set(f, HEALTH_OK, "%s",
			    p->facts.userns_clone < 0 ? "no such setting, none is needed"
						      : "it is 1");
		return;
	}
	f->needed = !p->facts.may_admin && needs_native(p);
	finding_set(f, f->needed ? HEALTH_MISSING : HEALTH_WEAK, "it is 0: for root only");
	fix_sysctl(f, "kernel.unprivileged_userns_clone=1");
}

void check_apparmor(const struct patient *p, struct finding *f)
{
	if (p->facts.apparmor_userns <= 0) {
		finding_set(f, HEALTH_OK, "does not restrict user namespaces");
	} else if (!apparmor_restricts(&p->facts)) {
		finding_set(f, HEALTH_OK, "restricts user namespaces, but not ours");
	} else {
		f->needed = needs_native(p);
		finding_set(f, HEALTH_MISSING,
			    "kernel.apparmor_restrict_unprivileged_userns is %ld",
			    p->facts.apparmor_userns);
		fix_sysctl(f, "kernel.apparmor_restrict_unprivileged_userns=0");
	}
}

void check_seccomp(const struct patient *p, struct finding *f)
{
	f->needed = true;
	if (p->facts.has_seccomp) {
		finding_set(f, HEALTH_OK, "filters are there");
		return;
	}
	finding_set(f, HEALTH_MISSING, "this kernel has no filters");
	finding_fix(f, "a kernel with CONFIG_SECCOMP_FILTER=y, and /proc mounted");
}

/* 0: it worked; else FINDING is filled but for the fix. */
static int judge_step(const struct patient *p, enum trial_step step, const char *well,
		      struct finding *f)
{
	int errnum = p->trial.errnum[step];

	if (errnum == 0)
		finding_set(f, HEALTH_OK, "%s", well);
	else if (errnum < 0)
		finding_set(f, HEALTH_WEAK, NOT_TRIED);
	else
		finding_set(f, HEALTH_MISSING, "refused: %s", strerror(errnum));
	return errnum;
}

void check_proc(const struct patient *p, struct finding *f)
{
	if (judge_step(p, TRIAL_PROC, "can be mounted", f) <= 0)
		return;
	f->needed = !p->posture || p->posture->resolved.spec.processes == PROCESSES_ISOLATED;
	finding_fix(f, "start the container with --security-opt systempaths=unconfined "
		       "(podman: unmask=ALL), or use --processes visible");
}

void check_overlay(const struct patient *p, struct finding *f)
{
	if (judge_step(p, TRIAL_OVERLAY, "works in a user namespace", f) <= 0)
		return;
	f->needed = p->posture && p->posture->resolved.spec.ephemeral;
	finding_fix(f, "%s",
		    p->trial.errnum[TRIAL_OVERLAY] == ENODEV
			    ? "sudo modprobe overlay   (and in /etc/modules-load.d, to keep it)"
			    : "a kernel that allows overlayfs in user namespaces, from 5.11 on");
}

void check_xattr(const struct patient *p, struct finding *f)
{
	if (judge_step(p, TRIAL_XATTR, "are there", f) <= 0)
		return;
	f->health = HEALTH_WEAK;
	finding_fix(f, "boot Linux 6.6 or newer, with CONFIG_TMPFS_XATTR=y");
}

void check_idmap(const struct patient *p, struct finding *f)
{
	if (p->uid != 0) {
		finding_set(f, HEALTH_OK, "not needed, since this is not root");
		return;
	}
	if (judge_step(p, TRIAL_IDMAP, "work in this workspace", f) <= 0)
		return;
	f->needed = true;
	finding_fix(f, "put the workspace on ext4, xfs or btrfs, or run pale as an ordinary user");
}

void check_landlock(const struct patient *p, struct finding *f)
{
	if (p->landlock >= LANDLOCK_SIGNAL_ABI) {
		finding_set(f, HEALTH_OK, "ABI %d", p->landlock);
	} else if (p->landlock > 0) {
		finding_set(f, HEALTH_WEAK, "ABI %d, which keeps no signals inside", p->landlock);
		finding_fix(f, "boot Linux 6.12 or newer");
	} else if (p->landlock == -EOPNOTSUPP) {
		finding_set(f, HEALTH_MISSING, "it is built in, but not in force");
		finding_fix(f, "add to the kernel's command line: lsm=landlock%s%s",
			    p->facts.lsm[0] ? "," : ",...", p->facts.lsm);
	} else {
		finding_set(f, HEALTH_MISSING, "this kernel has none, or a container refuses it");
		finding_fix(f, "a kernel from 6.12 on with CONFIG_SECURITY_LANDLOCK=y");
	}
}
