/* SPDX-License-Identifier: MIT */
/*
 * bwrap - the same plan through bubblewrap.
 *
 * bwrap makes namespaces and mounts and then executes pale, as the warden that
 * does the rest (warden/main.h). bwrap gets an empty environment and nothing of
 * the command: whatever a policy sets for the command cannot change bwrap, which
 * is outside. It is silent: its stderr is a pipe of ours.
 */
#pragma once
#include <stdbool.h>

#include "base/fd.h"
#include "base/str.h"

struct err;
struct plan;

/* All that the child needs, made before it is cloned. */
struct bwrap {
	const struct plan *plan;
	bool stands;
	const char *program;
	struct strv argv;
	int *fds; /* inherited by bwrap, and some by the warden */
	size_t fds_len, fds_cap;
	int channel_slot; /* index of the channel's number in argv */
	int stderr_read;  /* what bwrap said */
	int stderr_write;
	int null;
};

/* A bubblewrap that is root's alone, from a fixed list; NULL: none, and err. */
const char *bwrap_find(struct err *err);
/* Does it work here, with the options that we need? Bounded to a second. */
int bwrap_try(const char *program, struct err *err);

/* STANDS: the warden is to take errands, and none of the plan's command is passed. */
int bwrap_prepare(const struct plan *plan, const struct stdio *stdio, bool stands,
		  struct bwrap *ret, struct err *err);
void bwrap_release(struct bwrap *bwrap);
/* In the child: become bwrap. Returns only when that failed: -errno. */
int bwrap_exec(const struct bwrap *bwrap, int channel, struct err *err);
/* It ended before the warden was there: why? */
void bwrap_explain(const struct bwrap *bwrap, struct err *err);
