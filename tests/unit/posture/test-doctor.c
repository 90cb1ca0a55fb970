/* SPDX-License-Identifier: MIT */
/* Each check finds what it looks for, and names what mends it. */
#include "posture/doctor.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "posture/posture.h"
#include "tap.h"

static struct posture posture;

/* A machine on which all is well, seen by an ordinary user. */
static struct patient healthy(void)
{
	struct patient patient = {
		.facts = {.kernel = "6.12.1",
			  .major = 6,
			  .minor = 12,
			  .max_userns = 1000,
			  .userns_clone = -1,
			  .apparmor_userns = -1,
			  .has_seccomp = true,
			  .cgroup = CGROUP_V2,
			  .has_memory = true,
			  .has_pids = true,
			  .has_systemd = true,
			  .has_manager = true,
			  .has_delegation = true},
		.uid = 1000,
		.user = "ana",
		.landlock = 7,
		.rung = RUNG_CGROUP2,
		.has_clone3 = true,
		.has_openat2 = true,
		.has_pidfd = true,
		.has_systemd_run = true,
		.bwrap = "/usr/bin/bwrap",
		.git = "/usr/bin/git",
		.has_resolv_conf = true,
		.install = "apt-get install",
		.posture = &posture,
	};

	posture = (struct posture){.resolved = {.sandbox = "workspace"}};
	return patient;
}

/* The check NAME has this health and a fix with this PART; all others are well.
 * NEEDED: commands cannot run. */
static void expect(const char *what, const struct patient *patient, const char *name,
		   enum health health, bool needed, const char *part)
{
	struct finding findings[FINDINGS_MAX];
	size_t len = doctor_examine(patient, findings);
	unsigned others = 0, found = 0;

	for (size_t i = 0; i < len; i++) {
		const struct finding *at = &findings[i];

		if (!str_eq(at->name, name)) {
			others += at->health != HEALTH_OK;
			continue;
		}
		found++;
		tap_eq_str(health_name(at->health), health_name(health), "%s: %s", what, name);
		tap_ok(strstr(at->fix, part) && at->detail[0] && at->costs, "%s: fix: %s", what,
		       at->fix);
	}
	tap_ok(found == 1 && others == 0, "%s: nothing else is amiss", what);
	tap_ok(doctor_is_well(findings, len) == !needed, "%s: commands can%s run", what,
	       needed ? "not" : "");
}

static void test_well(void)
{
	struct patient patient = healthy();
	struct finding findings[FINDINGS_MAX];
	size_t len = doctor_examine(&patient, findings);
	unsigned bad = 0;

	for (size_t i = 0; i < len; i++)
		bad += findings[i].health != HEALTH_OK || findings[i].fix[0] || findings[i].costs ||
		       !findings[i].detail[0];
	tap_ok(len >= 18 && bad == 0, "a healthy machine: every check is ok and says what it saw");
	tap_ok(doctor_is_well(findings, len), "commands can run");
}

static void test_kernel(void)
{
	struct patient p = healthy();

	p.facts.major = 5;
	p.facts.minor = 14;
	expect("old kernel", &p, "kernel", HEALTH_MISSING, true, "5.15");
	p = healthy();
	p.has_clone3 = false;
	p.facts.is_filtered = true;
	expect("filtered clone3", &p, "system calls", HEALTH_MISSING, true, "seccomp=unconfined");
	p = healthy();
	p.facts.has_seccomp = false;
	expect("no seccomp", &p, "seccomp", HEALTH_MISSING, true, "CONFIG_SECCOMP_FILTER");
	p = healthy();
	p.landlock = -EOPNOTSUPP;
	memcpy(p.facts.lsm, "yama,apparmor", sizeof("yama,apparmor"));
	expect("Landlock off at boot", &p, "Landlock", HEALTH_MISSING, false,
	       "lsm=landlock,yama,apparmor");
	p.landlock = -ENOSYS;
	expect("no Landlock", &p, "Landlock", HEALTH_MISSING, false, "CONFIG_SECURITY_LANDLOCK");
	p.landlock = 4;
	expect("old Landlock", &p, "Landlock", HEALTH_WEAK, false, "6.12");
}

static void test_userns(void)
{
	struct patient p = healthy();

	p.facts.userns_clone = 0;
	expect("unprivileged_userns_clone", &p, "unprivileged_userns_clone", HEALTH_MISSING, true,
	       "sysctl -w kernel.unprivileged_userns_clone=1");
	p.facts.may_admin = true;
	expect("which root does not need", &p, "unprivileged_userns_clone", HEALTH_WEAK, false,
	       "sysctl -w");
	p = healthy();
	p.facts.apparmor_userns = 1;
	expect("AppArmor", &p, "AppArmor", HEALTH_MISSING, true,
	       "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
	p = healthy();
	p.facts.max_userns = 0;
	expect("none", &p, "max_user_namespaces", HEALTH_MISSING, true,
	       "sysctl -w user.max_user_namespaces=");
	posture.engine = ENGINE_BWRAP;
	expect("another engine is used", &p, "max_user_namespaces", HEALTH_MISSING, false,
	       "sysctl");
	p = healthy();
	p.trial.errnum[TRIAL_CLONE] = EPERM;
	expect("for no known reason", &p, "user namespaces", HEALTH_MISSING, true, "dmesg");
	p.facts.is_chrooted = true;
	expect("in a chroot", &p, "user namespaces", HEALTH_MISSING, true, "chroot");
	p = healthy();
	p.trial.errnum[TRIAL_PRIVATE] = EACCES;
	p.facts.is_filtered = true;
	expect("in a container", &p, "user namespaces", HEALTH_MISSING, true, "seccomp=unconfined");
	p = healthy();
	p.uid = 0;
	p.trial.errnum[TRIAL_MAPS] = EPERM;
	expect("root with few ids", &p, "user namespaces", HEALTH_MISSING, true, "ordinary user");
}

static void test_mounts(void)
{
	struct patient p = healthy();

	p.trial.errnum[TRIAL_PROC] = EPERM;
	expect("covered /proc", &p, "fresh procfs", HEALTH_MISSING, true, "systempaths");
	posture.resolved.spec.processes = PROCESSES_VISIBLE;
	expect("with visible processes", &p, "fresh procfs", HEALTH_MISSING, false, "systempaths");
	p = healthy();
	p.trial.errnum[TRIAL_OVERLAY] = ENODEV;
	expect("no overlay", &p, "overlayfs", HEALTH_MISSING, false, "modprobe overlay");
	posture.resolved.spec.ephemeral = true;
	expect("which is asked for", &p, "overlayfs", HEALTH_MISSING, true, "modprobe overlay");
	p = healthy();
	p.trial.errnum[TRIAL_XATTR] = EOPNOTSUPP;
	expect("no attributes", &p, "tmpfs attributes", HEALTH_WEAK, false, "6.6");
	p = healthy();
	p.trial.errnum[TRIAL_IDMAP] = EINVAL;
	p.uid = 0;
	expect("no id-mapped mounts", &p, "id-mapped mounts", HEALTH_MISSING, true, "ext4");
}

static void test_limits(void)
{
	struct patient p = healthy();

	p.rung = RUNG_WATCHDOG;
	p.facts.has_manager = false;
	expect("no manager", &p, "limits", HEALTH_WEAK, false, "loginctl enable-linger ana");
	p.has_systemd_run = false;
	expect("no systemd-run", &p, "limits", HEALTH_WEAK, false, "systemd-run");
	p.cgroup_is_readonly = true;
	expect("read-only", &p, "limits", HEALTH_WEAK, false, "writable");
	p = healthy();
	p.rung = RUNG_SYSTEMD;
	p.facts.has_delegation = false;
	expect("no delegation", &p, "limits", HEALTH_WEAK, false, "Delegate=cpu memory pids");
	p = healthy();
	p.rung = RUNG_WATCHDOG;
	p.facts.cgroup = CGROUP_V1;
	expect("v1", &p, "limits", HEALTH_WEAK, false, "systemd.unified_cgroup_hierarchy=1");
	p.facts.has_systemd = false;
	expect("v1 without systemd", &p, "limits", HEALTH_WEAK, false, "cgroup v2");
	p.is_blind = true;
	expect("hidepid", &p, "limits", HEALTH_WEAK, false, "hidepid=0");
	p = healthy();
	p.facts.has_memory = false;
	expect("no memory", &p, "memory controller", HEALTH_MISSING, false,
	       "cgroup_disable=memory");
}

static void test_place(void)
{
	struct patient p = healthy();

	p.bwrap = NULL;
	expect("no bubblewrap", &p, "bubblewrap", HEALTH_WEAK, false,
	       "sudo apt-get install bubblewrap");
	p = healthy();
	p.git = p.install = NULL;
	expect("no git", &p, "git", HEALTH_WEAK, false, "install the package git");
	p = healthy();
	p.has_resolv_conf = false;
	expect("no resolv.conf", &p, "name service", HEALTH_WEAK, false,
	       "echo \"nameserver ADDRESS\" | sudo tee /etc/resolv.conf");
	p = healthy();
	err_set(&p.state, ERR_SYSTEM, -EPERM, "not yours");
	err_hint(&p.state, 0, "chmod go-w it");
	expect("state", &p, "state directory", HEALTH_WEAK, false, "chmod go-w");
	p = healthy();
	posture.trust = TRUST_NONE;
	expect("trust", &p, "trust", HEALTH_MISSING, true, "pale trust --show");
	p = healthy();
	posture.refused = true;
	err_set(&posture.refusal, ERR_UNSUPPORTED, -ENOTSUP, "cannot be enforced here: memory");
	err_hint(&posture.refusal, 0, "allow it");
	expect("refused", &p, "default sandbox", HEALTH_MISSING, true, "allow it");
}

static void test_broken_config(void)
{
	struct patient p = healthy();
	struct finding findings[FINDINGS_MAX];
	size_t len;

	p.posture = NULL;
	err_set(&p.config, ERR_CONFIG, -EINVAL, "pale.toml:1:1: no");
	len = doctor_examine(&p, findings);
	tap_ok(!doctor_is_well(findings, len), "a broken configuration is needed");
	for (size_t i = 0; i < len; i++)
		if (str_eq(findings[i].name, "configuration"))
			tap_eq_str(findings[i].detail, "pale.toml:1:1: no", "and is told");
}

int main(void)
{
	test_well();
	test_kernel();
	test_userns();
	test_mounts();
	test_limits();
	test_place();
	test_broken_config();
	return tap_done();
}
