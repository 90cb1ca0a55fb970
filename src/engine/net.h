/* SPDX-License-Identifier: MIT */
/* net - the private network namespace: its own loopback and nothing else. */
#pragma once
#include <stddef.h>

struct err;

int net_loopback_up(struct err *err);

/* In a private network, before capabilities are dropped: the loopback is up, and every address
 * there is belongs to it. Nothing leads out all the same. */
int net_everywhere(struct err *err);
/* … and then the sockets that a broker needs go up the CHANNEL. */
int net_open(int channel, struct err *err);

enum { NET_SPECIAL_MAX = 3 };
/* The same for the network that SOCKET is of, from outside, for a sandbox that somebody else
 * built: a child of ours enters it. *ret_fds gets what needs capabilities, or is one of its kind. */
int net_open_from(int socket, int ret_fds[NET_SPECIAL_MAX], size_t *ret_len, struct err *err);
