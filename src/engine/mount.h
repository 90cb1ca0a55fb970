/* SPDX-License-Identifier: MIT */
/*
 * mount - the new root, assembled by descriptor.
 *
 * The root is one tmpfs, attached on top of "/": a process keeps resolving
 * names in the old root until it pivots, so sources stay reachable while the
 * new tree grows. Private folders are binds of that tmpfs onto itself; its own
 * mount ends up read-only.
 *
 * Mount points are opened without following any link, and made only on a
 * tmpfs of ours: set-up never creates anything on the host. One that was made
 * just now in a folder of ours needs no opening: nobody else can get there.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "engine/userns.h"
#include "plan/staging.h"

struct err;
struct op;

struct builder {
	int host; /* the old root, O_PATH */
	int root; /* the new one */
	bool root_ours;
	int aux;       /* our folder in it, for what is mounted elsewhere; -1 */
	unsigned lent; /* folders of that */
	dev_t own[8];  /* filesystems that we made */
	size_t own_len;
	int channel; /* where the mounts come from that only the parent may make; -1 */
	struct inbox inbox;
	size_t mounts_next;            /* of those, in the order of the plan */
	bool joins;                    /* the cgroup, which is still to be passed */
	bool connects;                 /* likewise, to the network */
	bool cgroupns;                 /* was made */
	const struct staging *staging; /* for OP_STAGED; NULL: there are none */
	int staged[STAGING_MAX];       /* the mounts of those that were applied */
	size_t staged_len;
	/* The folder that the last mount point was made in; see target.h. */
	int parent;
	const char *parent_path;
	size_t parent_len;
	bool parent_ours;
};

/* CHANNEL -1: we make every mount ourselves. */
void builder_init(struct builder *b, int channel, const struct staging *staging);
/* Execute one mount operation. */
int builder_apply(struct builder *b, const struct op *op, struct err *err);
/* Make the new root "/" and let go of the old one. */
int builder_pivot(struct builder *b, struct err *err);

/* A detached copy of the host's SRC with the flags of OP; USERNS >= 0 maps its
 * ids by that namespace. Returns the mount's descriptor or -errno. */
int mount_clone(int host, const struct op *op, int userns, struct err *err);
