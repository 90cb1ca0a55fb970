/* SPDX-License-Identifier: MIT */
#include "posture/doctor.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "posture/doctor-impl.h"
#include "posture/posture.h"

static const struct check {
	const char *group, *name;
	check_fn *look;
	const char *costs;
} checks[] = {
	{"Kernel", "kernel", check_kernel, "the engine native"},
	{"Kernel", "system calls", check_calls, "the engine native"},
	{"Kernel", "user namespaces", check_userns, "the engine native"},
	{"Kernel", "max_user_namespaces", check_userns_max, "user namespaces"},
	{"Kernel", "unprivileged_userns_clone", check_userns_clone, "user namespaces"},
	{"Kernel", "AppArmor", check_apparmor, "user namespaces"},
	{"Kernel", "seccomp", check_seccomp, "every sandbox"},
	{"Kernel", "fresh procfs", check_proc, "processes = \"isolated\""},
	{"Kernel", "overlayfs", check_overlay, "ephemeral"},
	{"Kernel", "tmpfs attributes", check_xattr,
	 "ephemeral: what is thrown away is on the disk until then, without a bound"},
	{"Kernel", "id-mapped mounts", check_idmap,
	 "everything that root starts in this workspace"},
	{"Kernel", "Landlock", check_landlock, "processes = \"visible\""},
	{"Limits", "limits", check_limits, "memory and cpu are only watched, not held"},
	{"Limits", "memory controller", check_memory, "memory is only watched, not held"},
	{"Limits", "pids controller", check_pids,
	 "pids is counted by the user namespace instead; memory is only watched"},
	{"Programs", "bubblewrap", check_bwrap, "the engine bwrap, where namespaces are refused"},
	{"Programs", "git", check_git, "commands that use it; pale itself does not"},
	{"Programs", "name service", check_name_service, "hosts that are allowed by name"},
	{"Workspace", "configuration", check_config, "everything: nothing runs"},
	{"Workspace", "trust", check_trust, "everything: nothing runs in this workspace"},
	{"Workspace", "state directory", check_state,
	 "pale trust, staged runs, sessions, caches and the history"},
	{"Workspace", "default sandbox", check_sandbox, "everything: nothing runs"},
};
_Static_assert(array_len(checks) <= FINDINGS_MAX, "too many checks");

const char *health_name(enum health health)
{
	static const char *const names[] = {
		[HEALTH_OK] = "ok", [HEALTH_WEAK] = "weak", [HEALTH_MISSING] = "missing"};

	return names[health];
}

void finding_set(struct finding *finding, enum health health, const char *fmt, ...)
{
	va_list ap;

	finding->health = health;
	va_start(ap, fmt);
	vsnprintf(finding->detail, sizeof(finding->detail), fmt, ap);
	va_end(ap);
}

void finding_fix(struct finding *finding, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(finding->fix, sizeof(finding->fix), fmt, ap);
	va_end(ap);
}

bool doctor_is_inside(const struct patient *patient)
{
	return patient->posture && patient->posture->is_inside;
}

/* What the sandbox around us withholds is not to be mended from here. */
static void leave_to_outer(const struct patient *patient, struct finding *finding)
{
	if (finding->health != HEALTH_OK && !finding->needed && doctor_is_inside(patient) &&
	    (str_eq(finding->group, "Kernel") || str_eq(finding->group, "Limits")))
		finding_fix(finding, "none from here: a sandbox of pale is around this");
}

size_t doctor_examine(const struct patient *patient, struct finding findings[FINDINGS_MAX])
{
	for (size_t i = 0; i < array_len(checks); i++) {
		struct finding *at = &findings[i];

		*at = (struct finding){.group = checks[i].group, .name = checks[i].name};
		checks[i].look(patient, at);
		if (at->health != HEALTH_OK && !at->costs)
			at->costs = checks[i].costs;
		leave_to_outer(patient, at);
	}
	return array_len(checks);
}

bool doctor_is_well(const struct finding *findings, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (findings[i].needed && findings[i].health != HEALTH_OK)
			return false;
	return true;
}
