/* SPDX-License-Identifier: MIT */
/* Checks of programs, of the configuration and of the workspace. */
#include <stddef.h>

#include "base/str.h"
#include "posture/doctor-impl.h"
#include "posture/posture.h"

static void not_looked_at(struct finding *f)
{
	finding_set(f, HEALTH_WEAK, "not looked at: the configuration is in error");
	f->costs = "see configuration";
}

static void check_program(const struct patient *p, const char *found, const char *package,
			  struct finding *f)
{
	if (found) {
		finding_set(f, HEALTH_OK, "%s", found);
		return;
	}
	finding_set(f, HEALTH_WEAK, "not installed");
	if (p->install)
		finding_fix(f, "sudo %s %s", p->install, package);
	else
		finding_fix(f, "install the package %s", package);
}

void check_bwrap(const struct patient *p, struct finding *f)
{
	check_program(p, p->bwrap, "bubblewrap", f);
}

void check_git(const struct patient *p, struct finding *f)
{
	check_program(p, p->git, "git", f);
}

/* Even a link to nowhere can be covered by what the sandbox has in its place. */
void check_name_service(const struct patient *p, struct finding *f)
{
	if (p->has_resolv_conf) {
		finding_set(f, HEALTH_OK, "/etc/resolv.conf is there");
		return;
	}
	finding_set(f, HEALTH_WEAK, "there is no /etc/resolv.conf");
	finding_fix(f, "echo \"nameserver ADDRESS\" | sudo tee /etc/resolv.conf");
}

void check_config(const struct patient *p, struct finding *f)
{
	f->needed = true;
	if (p->posture) {
		finding_set(f, HEALTH_OK, "%u file%s in order", p->config_files,
			    p->config_files == 1 ? "" : "s");
		return;
	}
	finding_set(f, HEALTH_MISSING, "%.390s", p->config.message);
	finding_fix(f, "%s", p->config.hint[0] ? p->config.hint : "mend the file that is named");
}

void check_trust(const struct patient *p, struct finding *f)
{
	if (!p->posture) {
		not_looked_at(f);
		return;
	}
	f->needed = true;
	if (p->posture->trust == TRUST_GIVEN || p->posture->trust == TRUST_NOT_NEEDED) {
		finding_set(f, HEALTH_OK, "%s",
			    p->posture->trust == TRUST_GIVEN ? "given" : "not needed");
		return;
	}
	finding_set(f, HEALTH_MISSING, "this workspace asks for more than it is trusted with");
	finding_fix(f, "pale trust --show, and if you agree: pale trust");
}

void check_state(const struct patient *p, struct finding *f)
{
	if (!p->posture) {
		not_looked_at(f);
		return;
	}
	if (!p->state.errnum) {
		finding_set(f, HEALTH_OK, "private and writable");
		return;
	}
	finding_set(f, HEALTH_WEAK, "%.390s", p->state.message);
	finding_fix(f, "%s", p->state.hint);
}

void check_sandbox(const struct patient *p, struct finding *f)
{
	if (!p->posture) {
		not_looked_at(f);
		return;
	}
	f->needed = true;
	if (!p->posture->refused) {
		finding_set(f, HEALTH_OK, "%s: every dimension can be enforced as asked%s",
			    p->posture->resolved.sandbox,
			    doctor_is_inside(p) ? ", within the sandbox around this" : "");
		return;
	}
	finding_set(f, HEALTH_MISSING, "%.390s", p->posture->refusal.message);
	if (str_starts(p->posture->refusal.hint, "`pale doctor`"))
		finding_fix(f, "what is missing above");
	else if (p->posture->refusal.code != ERR_TRUST)
		finding_fix(f, "%s", p->posture->refusal.hint);
}
