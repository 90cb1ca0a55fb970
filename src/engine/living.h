/* SPDX-License-Identifier: MIT */
/*
 * living - one errand of a sandbox that stays up, as the supervisor sees it.
 *
 * Its limits and times, who watches it, and what comes of that in its result. Memory,
 * processes and CPU time are added up from samples of its tree: what it left behind, and
 * what left it, is not counted.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "engine/engine.h"
#include "engine/limiter.h"
#include "plan/plan.h"
#include "result/event.h"

struct err;
struct errand;
struct result;
struct warden_report;

struct living {
	struct living *next;
	uint32_t id;
	uint32_t inside; /* what the warden calls it: the same, or as the spare that it became */
	void *own;       /* the user's */
	void *data;      /* for `signal_kin` */
	struct loop *loop;
	void (*signal_kin)(void *data, uint32_t id, int sig);
	struct watcher watcher;
	bool watched;
	int listener; /* -1: none, or not yet */
	bool listens; /* it is part of the loop */
	bool over;    /* told; only its listener is left, for what it left behind */
	uint64_t started_ns;
	uint64_t timeout_ms;
	struct loop_timer deadline;
	struct limits limits;
	struct limiter limiter;
	bool asked_to_end, timed_out;
	bool unheard;               /* an order to kill it is on its way since a while */
	void (*silent)(void *data); /* the warden does not take orders any more */
	struct events events;       /* while it lived */
};

/* Can ERRAND have its descriptors? */
int living_check(const struct errand *errand, const struct plan *plan, struct err *err);
/* The loop has its timer from here on. */
struct living *living_new(const struct errand *errand, const struct watcher *watcher, void *own,
			  struct loop *loop);
/* Its process is PID: limits count from now on. */
void living_started(struct living *l, pid_t pid);
/* SIGTERM to its kin, SIGKILL after a while; a warden that does not hear of that is frozen. */
void living_end(struct living *l);
void living_heard(struct living *l);
bool living_is_silent(const struct living *l); /* can nobody call any more? */
/* How it ended, by REPORT; but for what the sandbox's own counters know. */
void living_judge(struct living *l, const struct warden_report *report, struct result *ret);
/* No limit is watched any more. */
void living_rest(struct living *l);
struct living *living_free(struct living *l); /* its listener, too, which is not watched; NULL ok */
