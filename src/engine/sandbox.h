/* SPDX-License-Identifier: MIT */
/*
 * sandbox - raises the walls of a plan, guards them, and takes them down.
 *
 * What a run of one command (supervise.c) and a sandbox that stays up (stand.c) have in
 * common: everything about the sandbox, and nothing about what runs in it.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/beside.h"
#include "engine/bwrap.h"
#include "engine/guard.h"
#include "engine/limiter.h"
#include "engine/net-maker.h"
#include "plan/plan.h"
#include "warden/scratch.h"

struct err;
struct events;
struct prelude;
struct pty;
struct stdio;
struct usage;
struct warden_report;

enum { SANDBOX_HANGUP_MS = 2000 }; /* for those inside to kill everybody */

struct sandbox {
	const struct plan *plan;
	struct limits limits; /* of all that is in it together */
	bool stands;          /* without a command of its own: it takes errands */
	struct bwrap bwrap;   /* ENGINE_BWRAP */
	struct limiter limiter;
	struct guard guard;
	struct guard_power power;      /* of the guard, */
	struct events *events;         /* and what it sees */
	const struct prelude *prelude; /* NULL: none */
	struct scratch scratch;
	struct beside beside;
	bool has_cgroup; /* as far as one is made after the clone */
	bool is_ready;   /* for the command to start, but for what the child needs */
	struct net_maker net_maker;
	pid_t warden; /* our child: with ENGINE_BWRAP it is further down */
	int pidfd;
	int channel;
	int mounts;    /* its mount namespace, to be let go of last; -1: by the warden's end */
	int staged[2]; /* namespaces for those who join a stage; -1: not yet, or passed on */
	bool hung_up;
};

/* STANDS: whether it outlives commands. */
void sandbox_init(struct sandbox *s, const struct plan *plan, bool stands);
/* All that it needs and that fails without harm: nothing was started yet. INNER: what the
 * warden begins with; END is called with DATA when the guard wants it ended, EVENTS gets
 * what the guard sees. */
int sandbox_prepare(struct sandbox *s, const struct stdio *inner, void (*end)(void *data),
		    void *data, struct events *events, struct err *err);
/* Start the warden, with a terminal like PTY where that has one. What can be done while it
 * builds is done then; it goes no further before all of that was. 1: it failed already, and
 * *ret_report says why. */
int sandbox_raise(struct sandbox *s, const struct stdio *inner, const struct pty *pty,
		  struct warden_report *ret_report, struct err *err);
/* Does the end of our child end everything? bwrap's does not: the warden is one
 * further down, and comes to us when bwrap is killed. */
bool sandbox_child_owns_all(const struct sandbox *s);
void sandbox_kill_warden(struct sandbox *s);
/* End everything inside. HAS_STARTED: something may be there. True: those inside do, and
 * when that takes longer than SANDBOX_HANGUP_MS, this is to be called again. */
bool sandbox_kill(struct sandbox *s, bool has_started);
/* Wait for the end of the warden, and of everybody that came to us. */
void sandbox_collect(struct sandbox *s, struct usage *ret);
/* Nothing is left inside. Afterwards the guard's events are complete. */
void sandbox_settle(struct sandbox *s);
/* R: of our own steps. Why does it not stand? */
int sandbox_explain(const struct sandbox *s, int r, struct err *err);
void sandbox_release(struct sandbox *s); /* at every end */
