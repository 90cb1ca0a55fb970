/* SPDX-License-Identifier: MIT */
/*
 * guard - watches the protected names that no mount can hold.
 *
 * What does not exist cannot be mounted over, nor can a link; and a mount goes
 * away with the name that it is on when a process of the host renames over that.
 * So the supervisor watches the folders. A name that must not be there is moved
 * to the quarantine, a link is put back, a file that was replaced on the host is
 * made read-only inside again; meanwhile the run is stopped. Where none of that
 * works, or when it does not cease, the run is ended.
 *
 * A tripwire says when something happens in a folder for the first time; from then
 * on inotify says what.
 *
 * The kernel does not say who made a name: one that appears during a run is taken
 * away whoever made it. In a sandbox that stays up it may stay while nobody is inside,
 * but then no command may begin.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/path.h"
#include "base/loop.h"
#include "engine/guard-name.h"
#include "engine/quarantine.h"
#include "engine/rebind.h"
#include "engine/tripwire.h"

struct err;
struct events;
struct guarded;
struct plan;

/* What the guard can do to the run. */
struct guard_power {
	int (*stop)(void *stop_data, bool stop); /* everything inside, or let it go on */
	void *stop_data;
	void (*end)(void *end_data);
	void *end_data;
	void (*noted)(void *end_data); /* there is something new in the events; NULL ok */
};

struct guard_dir {
	const char *path;
	int fd;
	int watch;
	int coming, going;   /* tripwires; -1: none */
	unsigned came, went; /* names, while there was a tripwire */
	bool went_first;
	struct glance glance;
	bool is_closed; /* for good: nobody can look into it */
};

struct guard_item {
	const struct guarded *what;
	size_t dir;
	struct file_id id; /* what is there by right; all zero: nothing */
	int held;          /* that, open; -1: nothing, or it could not be */
	bool vacant;       /* it was away for a moment: anybody can have made what is there now */
	struct timespec changed; /* of what is mounted over, while there is a tripwire */
};

struct guard {
	bool woken; /* by an event, ever */
	struct tripwire tripwire;
	int inotify; /* -1: nothing has happened yet, or we look from time to time */
	struct loop *loop;
	struct loop_timer timer;
	struct loop_timer waker;
	uint64_t wake_ns;
	int wakes; /* to come */
	struct guard_dir *dirs;
	size_t dirs_len;
	struct guard_item *items;
	size_t items_len;
	struct guard_power power;
	struct events *events;
	struct quarantine quarantine;
	struct rebind rebind;
	uint64_t noticed_ns;
	unsigned sightings;
	unsigned quarantined_before; /* by commands that have ended */
	bool stopped, ended;
	bool over;  /* nothing of the run is left */
	bool rests; /* nobody is inside: what appears is the host's */
};

/* Before anything of the run is there: what appears later is seen. EVENTS gets
 * what happens. Released by guard_close() whatever the outcome. */
int guard_open(struct guard *guard, const struct plan *plan, const struct guard_power *power,
	       struct events *events, struct err *err);
/* CHILD, of PIDFD, will be the warden. */
void guard_enter(struct guard *guard, pid_t child, int pidfd);
void guard_watch(struct guard *guard, struct loop *loop);
void guard_unwatch(struct guard *guard); /* where the loop outlives it */
/* What has happened and was not looked at yet. */
void guard_catch_up(struct guard *guard);
/* Nobody is inside, who could make a name, until guard_renew(): what appears stays. What
 * went before is looked at first. */
void guard_rest(struct guard *guard);
/* A new command: what went before is no reason to end it. -ESTALE: the host has made a
 * protected name meanwhile, which the command could write to. */
int guard_renew(struct guard *guard, struct err *err);
/* Nothing of the run is left: look once more at everything. */
void guard_finish(struct guard *guard);
void guard_close(struct guard *guard);
