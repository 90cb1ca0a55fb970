/* SPDX-License-Identifier: MIT */
/*
 * net-maker - a private network, made while its sandbox is built.
 *
 * To make one takes the kernel longer than all mounts together. So a helper does, in the
 * sandbox's user namespace, and passes it to the child, which enters it once it needs it.
 */
#pragma once
#include <sys/types.h>

#include "base/err.h"

struct net_maker {
	int owner; /* pidfd of a process in the user namespace */
	int channel;
	pid_t pid;      /* 0: none */
	struct err err; /* the helper's, which shares our memory */
};

/* Start it; OWNER and CHANNEL must stay open until it was waited for. */
int net_maker_start(struct net_maker *maker, int owner, int channel, struct err *err);
/* Its end, and why it failed. At once when there is none. */
int net_maker_wait(struct net_maker *maker, struct err *err);
