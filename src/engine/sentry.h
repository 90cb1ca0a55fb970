/* SPDX-License-Identifier: MIT */
/*
 * sentry - looks at the protected names while the supervisor is stopped.
 *
 * What is stopped inside can have itself woken: a timer sends SIGCONT as well. So a
 * process of its own looks then, and wakes the supervisor when its guard has to act.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct guard;

struct sentry {
	pid_t pid; /* 0: none */
	int call;  /* readable: it has woken us; -1 */
};

/* Before the caller stops. False: there is something to do first, or nobody to look. */
bool sentry_post(struct sentry *ret, const struct guard *guard);
/* After that, and always. True: the sentry has woken us, and nobody else. */
bool sentry_relieve(struct sentry *sentry);
