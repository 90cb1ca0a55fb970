/* SPDX-License-Identifier: MIT */
/*
 * doctor - what this machine lacks, what that costs, and what mends it.
 *
 * One table of checks, one function each, over facts that tests can make up.
 * Nothing is mended here.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "plan/rung.h"
#include "posture/facts.h"
#include "posture/trial.h"

struct context;
struct posture;

enum health { HEALTH_OK, HEALTH_WEAK, HEALTH_MISSING };

/* Everything that the checks look at. */
struct patient {
	struct facts facts;
	struct trial trial;
	uid_t uid;
	const char *user; /* its name, or NULL */
	int landlock;     /* the ABI, or -errno */
	enum rung rung;
	bool is_blind; /* /proc hides what would be added up without a cgroup */
	bool has_clone3, has_openat2, has_pidfd;
	bool has_systemd_run;    /* the program */
	bool cgroup_is_readonly; /* the mount */
	const char *bwrap;       /* where it is, or NULL */
	const char *git;
	bool has_resolv_conf;
	const char *install; /* the system's "apt-get install", or NULL */
	/* Where we are. */
	const struct posture *posture; /* NULL: the configuration is in error, */
	struct err config;             /* and this says what is wrong */
	unsigned config_files;
	struct err state; /* what is wrong with the state directory; errnum 0: nothing */
};

struct finding {
	const char *group, *name;
	enum health health;
	bool needed;       /* commands in this workspace cannot run without */
	char detail[400];  /* what was found */
	const char *costs; /* what is lost; NULL when ok */
	char fix[512];     /* a command or a setting; "" when ok, or when there is none */
};
#define FINDINGS_MAX 32

/* Look at this machine, and try. CONTEXT and POSTURE may be NULL. */
void patient_probe(const struct context *context, const struct posture *posture,
		   struct patient *ret);
const char *health_name(enum health health);
/* Every check, in the order of the table. Returns how many. */
size_t doctor_examine(const struct patient *patient, struct finding findings[FINDINGS_MAX]);
/* Nothing that is needed is amiss. */
bool doctor_is_well(const struct finding *findings, size_t len);
