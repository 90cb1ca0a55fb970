/* SPDX-License-Identifier: MIT */
/*
 * keeper - the process that a session is: it holds the sandbox, its stage and its history, and
 * does what clients ask for over its socket.
 *
 * It decides by itself: who may ask, whether the policy still holds, what environment a
 * command gets. Clients pass descriptors and wishes; the confined side has no say at all.
 */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "api/run.h"

struct err;
struct fingerprint;

struct keeper_ask {
	const char *name;   /* valid */
	const char *folder; /* of the workspace's sessions */
	/* Of what the run was made from; borrowed for good. */
	const struct fingerprint *fingerprint;
	uint64_t idle_ms;
	int lifeline; /* -1: none; else it ends when the other end hangs up */
};

/* Start the session of a RUN that is prepared, in a process of its own; returns when it
 * stands. -EBUSY: there is one of that name. */
int keeper_start(struct run *run, const struct run_request *request, const struct keeper_ask *ask,
		 struct err *err);
/* [session] idle, or what holds without. */
uint64_t keeper_idle(const struct config *config);
