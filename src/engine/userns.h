/* SPDX-License-Identifier: MIT */
/*
 * userns - who the command is, inside and outside.
 *
 * An ordinary user is mapped to itself by the child alone. Root hands the
 * child a range that is nobody's outside: the parent writes the maps and lets
 * the child go on, then makes the id-mapped mounts that only it may make, and
 * passes them over.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "plan/rung.h"

struct err;
struct plan;

enum { PREPARED_MAX = 250 }; /* the kernel passes 253 descriptors at once */

/* In the child: get our maps and become the command's uid and gid. */
int userns_enter(const struct plan *plan, int channel, struct err *err);
/* In the child, before it becomes undumpable, which closes its namespaces to an
 * ordinary user: has the parent opened those that it may enter later, and done what comes
 * before every command? It then says so with userns_let_go_on(), and whether the child was MOVED
 * to another processor. */
int userns_wait_served(int channel, bool *ret_moved, struct err *err);
int userns_let_go_on(int channel, bool moved, struct err *err);
/* What the parent and its helpers pass, in any order, each if there is any: the mounts that it
 * made, in the order of the plan; the cgroup, as what is to be written to; the network. */
enum passed {
	PASSED_MOUNTS = 'm',
	PASSED_CGROUP = 'c',
	PASSED_NETWORK = 'n',
};

/* What has come so far. */
struct inbox {
	int mounts[PREPARED_MAX], cgroup[CG_DIRS];
	size_t mounts_len, cgroup_len;
	bool has_mounts, has_cgroup, has_network;
	int network; /* -1: not yet; or it could not be made, and is to be made by the child */
};

#define INBOX_EMPTY ((struct inbox){.network = -1})

/* Until WHAT has come. */
int userns_receive(int channel, enum passed what, struct inbox *inbox, struct err *err);
int userns_pass(int channel, enum passed what, const int *fds, size_t len, struct err *err);
/* Does the parent make the mounts of user trees? */
bool userns_serves_mounts(const struct plan *plan);
/* In the parent, after clone: write the maps and let the child go on. Returns 0
 * at once when the child does that itself. */
int userns_grant(const struct plan *plan, pid_t child, int channel, struct err *err);
/* Then: make the mounts that it cannot make. */
int userns_serve(const struct plan *plan, pid_t child, int pidfd, int channel, struct err *err);

/* R is what the kernel answered to making namespaces, or to the first thing that
 * needs privilege in them: if it says that they are not allowed here, err becomes
 * ERR_NO_NAMESPACES. Returns R. */
int userns_refused(int r, struct err *err);
/* For such an err, in the parent: which setting stands in the way. */
void userns_hint(struct err *err);
