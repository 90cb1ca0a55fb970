/* SPDX-License-Identifier: MIT */
/*
 * net - the private network namespace: its own loopback and nothing else.
 *
 * Making one is the dearest step of a run (the kernel registers hundreds of
 * settings), so a helper makes it while the root is being assembled.
 */
#pragma once
#include <sys/types.h>

struct err;

struct net {
	pid_t helper; /* 0: none was started */
	int fd;       /* the namespace, written by the helper */
	struct net_failure {
		const char *what;
		int r;
	} failure;
};

/* Start the helper. It shares our memory and descriptors, and *net until
 * net_join(). */
int net_begin(struct net *net, struct err *err);
/* Wait for it and enter what it made. */
int net_join(struct net *net, struct err *err);
