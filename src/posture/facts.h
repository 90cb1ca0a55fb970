/* SPDX-License-Identifier: MIT */
/*
 * facts - what the kernel says about itself in /proc and /sys.
 *
 * Only files are read: nothing is started and nothing is tried. Tests put
 * another folder in the place of /.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

/* Will user namespaces work? Without trying, nobody knows for sure. */
enum promise { PROMISE_LIKELY, PROMISE_DOUBTFUL, PROMISE_REFUSED };

struct facts {
	char kernel[65];
	unsigned major, minor;
	long max_userns;      /* user.max_user_namespaces; -1: no such setting */
	long userns_clone;    /* kernel.unprivileged_userns_clone; likewise */
	long apparmor_userns; /* kernel.apparmor_restrict_unprivileged_userns; likewise */
	bool apparmor_named;  /* a profile is attached to this program */
	bool may_admin;       /* CAP_SYS_ADMIN is effective */
	bool is_filtered;     /* somebody else's seccomp filter is in force */
	bool has_seccomp;     /* the kernel has filters at all */
	bool is_chrooted;
	bool has_overlay; /* built in, or loaded; a module may still be */
	enum cgroup_kind cgroup;
	bool has_memory, has_pids; /* controllers that the kernel offers */
	bool has_systemd;          /* it is process 1 */
	bool has_manager;          /* and there is one for this user */
	bool has_delegation;       /* which may use both controllers */
	char lsm[128];             /* security modules in force; "": not told */
};

/* For user UID. ROOT stands before every path; "" is the machine itself. What cannot be read
 * counts as not there. */
void facts_read(const char *root, uid_t uid, struct facts *ret);

/* What they say about user namespaces, and the fact that decides it. */
enum promise facts_userns(const struct facts *facts, const char **ret_why);
const char *promise_name(enum promise promise);
