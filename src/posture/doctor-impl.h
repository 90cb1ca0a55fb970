/* SPDX-License-Identifier: MIT */
/* doctor-impl - the checks, for the table in doctor.c. */
#pragma once
#include "posture/doctor.h"

/* Fill health, detail and fix; FINDING begins as ok, not needed. */
typedef void check_fn(const struct patient *patient, struct finding *finding);

check_fn check_kernel, check_calls, check_userns, check_userns_max, check_userns_clone,
	check_apparmor, check_seccomp, check_proc, check_overlay, check_xattr, check_idmap,
	check_landlock, check_bwrap, check_git, check_name_service;
check_fn check_limits, check_memory, check_pids;
check_fn check_config, check_trust, check_state, check_sandbox;

/* Of a sandbox of pale's. */
bool doctor_is_inside(const struct patient *patient);
void finding_set(struct finding *finding, enum health health, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void finding_fix(struct finding *finding, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
