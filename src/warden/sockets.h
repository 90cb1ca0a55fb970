/* SPDX-License-Identifier: MIT */
/*
 * sockets - sockets of the sandbox's network, made inside for the broker outside.
 *
 * A socket belongs to the network that it was made in, whoever holds it. The first batch is
 * part of the set-up and is answered by one byte; the warden makes more when it is ordered to.
 */
#pragma once
#include <stddef.h>

struct err;

enum { SOCKETS_BATCH = 32, SOCKETS_FIRST_MAX = SOCKETS_BATCH + 3 };

/* As many unbound stream sockets as there are to be had, SOCKETS_BATCH at most, none of which
 * makes anybody wait: IPv6, which do for IPv4 as well, or IPv4 where the kernel has nothing else. */
size_t sockets_make(int fds[SOCKETS_BATCH]);
/* Send them, and let go of them. */
int sockets_send(int channel, const int *fds, size_t len);
int sockets_send_more(int channel); /* a batch, which may be smaller, or empty */

/* For a sandbox that somebody else built: the first batch, from which the supervisor finds its
 * way to the rest. Waits until it has. */
int sockets_begin(int channel, struct err *err);

/* Nothing may start before the first batch has been taken. */
int sockets_wait_taken(int channel, struct err *err);
int sockets_taken(int channel); /* the supervisor's answer */
