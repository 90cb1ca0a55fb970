/* SPDX-License-Identifier: MIT */
/*
 * net-maker - a private network, made while its sandbox is built.
 *
 * To make one takes the kernel longer than all mounts together. So a helper does, in the
 * sandbox's user namespace, and passes it to the child, which enters it once it needs it. Where
 * the helper cannot, the child is told so, and makes its own.
 */
#pragma once
#include <sys/types.h>

struct err;

struct net_maker {
	int owner; /* pidfd of a process in the user namespace */
	int channel;
	pid_t pid; /* 0: none */
};

/* Start it; OWNER and CHANNEL must stay open until it was waited for. */
void net_maker_start(struct net_maker *maker, int owner, int channel);
/* Its end; then the child has been passed a network, or told that there is none. At once when it
 * was never started. */
int net_maker_wait(struct net_maker *maker, struct err *err);
