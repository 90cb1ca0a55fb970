/* SPDX-License-Identifier: MIT */
/*
 * trial - what a sandbox is made of, tried for real in a child that ends at
 * once and leaves nothing behind.
 */
#pragma once
#include <stdbool.h>

enum trial_step {
	TRIAL_CLONE,   /* the namespaces */
	TRIAL_MAPS,    /* ids in the user namespace */
	TRIAL_PRIVATE, /* mounts can be changed in it */
	TRIAL_TMPFS,   /* a tmpfs */
	TRIAL_XATTR,   /* with the attributes that an overlay needs */
	TRIAL_OVERLAY, /* an overlay on it */
	TRIAL_PROC,    /* a procfs of its own */
	TRIAL_IDMAP,   /* started by root: id-mapped mounts of the workspace */
	TRIAL_COUNT_,
};

struct trial {
	int errnum[TRIAL_COUNT_]; /* 0: it works; else as errno(3); -1: not reached */
};

/* WORKSPACE is only looked at. Never takes longer than a few seconds: what hangs
 * is killed and told as ETIMEDOUT. */
void trial_run(const char *workspace, struct trial *ret);
