/* SPDX-License-Identifier: MIT */
/*
 * verdict - would the boundary refuse this?
 *
 * The call itself goes on to the kernel, which does not tell how it ended. So the
 * same place is looked at: is it on a read-only mount of the sandbox, is it missing
 * there, does a Landlock rule open it? Mounts do not change during a run, so it
 * does not matter that the look comes after the answer.
 */
#pragma once
#include <stdbool.h>

struct plan;

/* What a name is to be for a call. */
enum name_use {
	NAME_CHANGES, /* written as it is */
	NAME_MADE,    /* new */
	NAME_OPENED,  /* made or changed */
	NAME_GOES,    /* removed, or renamed away */
	NAME_TAKEN,   /* made, or replaced by another file */
	NAME_REACHED, /* connected to */
	NAME_USED,    /* nothing happens to it: not judged */
};

enum verdict_kind {
	VERDICT_FINE, /* or refused by something else than the boundary */
	VERDICT_READONLY,
	VERDICT_PROTECTED, /* mounted over, in a place that can be written */
	VERDICT_HIDDEN,
	VERDICT_MISSING, /* hidden, if the host has it: host_has() */
};

struct scene {
	const struct plan *plan;
	int root; /* of the sandbox, O_PATH; -1: not known yet */
};

/* PATH: absolute and normalized. NO_FOLLOW: a link is meant itself. */
enum verdict_kind scene_judge(const struct scene *scene, const char *path, enum name_use use,
			      bool no_follow);
/* Is PATH there, for those inside? */
bool scene_has(const struct scene *scene, const char *path);
/* Is PATH in a part of the sandbox that does not show the host's files? Pure. */
bool plan_is_private_at(const struct plan *plan, const char *path);
/* Does the host have PATH? False also where to ask might take long: on a remote
 * filesystem, by the text of /proc/self/mountinfo. */
bool host_has(const char *path, const char *mountinfo);
