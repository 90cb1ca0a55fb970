/* SPDX-License-Identifier: MIT */
/*
 * stand - a sandbox that stays up, in somebody else's loop.
 *
 * Raises the walls of a plan with a warden that takes errands, sends it errands, holds
 * each to its own limits, and tells how each ended. backend/standing.h says what users may
 * rely on; what is said there about an observer is brought along as a struct watcher.
 */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "engine/engine.h"

struct err;
struct errand;
struct events;
struct loop;
struct plan;
struct result;
struct stand;

/* OWN is what stand_start() was given. */
struct stand_ear {
	void (*terminal)(void *data, void *own, int master);
	void (*stopped)(void *data, void *own);
	void (*ended)(void *data, void *own, struct result *result, const struct err *failed);
	void (*tampered)(void *data, const struct events *events); /* NULL ok */
	void (*gone)(void *data);
	void *data;
};

/* GATEWAY: of all errands together; not NULL for a plan that is brokered. It outlives the sandbox. */
int stand_open(const struct plan *plan, struct loop *loop, const struct stand_ear *ear,
	       const struct gateway *gateway, struct stand **ret, struct err *err);
/* WATCHER: of this errand; not NULL for a plan that observes. */
int stand_start(struct stand *stand, const struct errand *errand, const struct watcher *watcher,
		void *own, struct err *err);
void stand_signal(struct stand *stand, uint32_t id, int sig);
void stand_end(struct stand *stand, uint32_t id);
pid_t stand_pid(const struct stand *stand);
/* FORGET is called with the OWN of each errand that is still there; NULL ok. */
struct stand *stand_close(struct stand *stand, void (*forget)(void *own), struct result *ret);
