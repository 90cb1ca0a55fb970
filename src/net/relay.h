/* SPDX-License-Identifier: MIT */
/*
 * relay - two connected sockets that become one, by splice(2).
 *
 * Pipes are lent to a direction only while bytes are on their way in it, so that an idle
 * connection holds two descriptors. A direction whose reader is slow holds what is in its
 * pipe, and no more is taken from its writer. The end of one direction is passed on, a reset
 * as well. SIGPIPE must be ignored: splice(2) has no flag against it.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct poller;
struct relay;
struct relays;

struct relay_ear {
	/* How many bytes may pass yet, SENT: from inside to outside. */
	uint64_t (*left)(void *data, bool sent);
	/* BYTES of them did. */
	void (*passed)(void *data, uint64_t bytes, bool sent);
	/* RELAY has more than what was left. The ear may reset any, this one too. */
	void (*exceeded)(void *data, struct relay *relay, bool sent);
	/* Both directions have ended, or it was reset; the relay is gone when this returns. */
	void (*ended)(void *data, struct relay *relay);
};

int relays_new(struct poller *poller, const struct relay_ear *ear, void *data, struct relays **ret);
/* Before it is connected, or listens for what will be: words are not held back; NEAR: its peer is
 * on this machine. */
void socket_tune(int fd, bool near);
/* INSIDE and OUTSIDE, both tuned, are the relay's from here on, also on failure. OWNER: for the caller. */
int relay_start(struct relays *relays, int inside, int outside, void *owner, struct relay **ret);
void *relay_owner(const struct relay *relay);
void relay_reset(struct relays *relays, struct relay *relay); /* at once; no call to the ear */
struct relays *relays_free(struct relays *relays);            /* resets all */
/* Close FD, which may be -1, so that its peer sees a reset; returns -1. */
int socket_reset(int fd);
