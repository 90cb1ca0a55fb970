/* SPDX-License-Identifier: MIT */
/*
 * relay - two connected sockets that become one, by splice(2).
 *
 * Pipes are lent to a direction only while bytes are on their way in it, so that an idle
 * connection holds two descriptors. The end of one direction is passed on, a reset as well.
 */
#pragma once
#include <stdint.h>

struct poller;
struct relay;
struct relays;

struct relay_ear {
	/* BYTES more were passed on, SENT: from inside to outside. Returns false to cut it off. */
	int (*passed)(void *data, uint64_t bytes, int sent);
	/* Both directions have ended, or it was reset; the relay is gone when this returns. */
	void (*ended)(void *data, struct relay *relay);
};

int relays_new(struct poller *poller, const struct relay_ear *ear, void *data, struct relays **ret);
/* INSIDE and OUTSIDE are the relay's from here on, also on failure. OWNER: for the caller. */
int relay_start(struct relays *relays, int inside, int outside, void *owner, struct relay **ret);
void *relay_owner(const struct relay *relay);
void relay_reset(struct relays *relays, struct relay *relay); /* at once; no call to the ear */
struct relays *relays_free(struct relays *relays);            /* resets all */
