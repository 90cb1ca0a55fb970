/* SPDX-License-Identifier: MIT */
/*
 * brokered - connections that wait for what the broker says.
 *
 * A connection is told before it is made (net/broker.h): the broker opens the way or gives
 * the error, now or later, and others are served meanwhile. Nothing is decided on what
 * is read here. A caller that waits sleeps so that only what kills it wakes it; a signal with
 * a handler is looked for now and then, and ends the wait as the kernel would have ended it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/endpoint.h"

struct attempt;
struct broker;
struct observer;
struct seccomp_notif;

/* A call that has no answer yet. */
struct brokered_call {
	uint64_t id;
	pid_t pid;
	struct endpoint to;
	uint64_t until_ns; /* SO_SNDTIMEO; UINT64_MAX: none */
	bool signalled;    /* when it was looked at last */
};

struct brokered {
	struct broker *broker; /* NULL: no such plan, or it is gone */
	struct brokered_call *calls;
	size_t len, cap;
	uint64_t taken; /* calls, in all */
};

/* Hand the call over. False: it is none of the broker's business, and goes on. */
bool brokered_take(struct observer *o, const struct seccomp_notif *notice, const struct attempt *a);
bool brokered_waits_for(const struct brokered *b, const struct endpoint *to);
/* Whose caller is gone, has a signal to see to, or no time left. To be called about every
 * BROKERED_CHECK_MS while `len`. */
enum { BROKERED_CHECK_MS = 50 };
void brokered_check(struct observer *o);
void brokered_release(struct observer *o); /* nobody waits any more */
