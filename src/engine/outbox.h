/* SPDX-License-Identifier: MIT */
/*
 * outbox - orders that the channel to a warden has no room for yet.
 *
 * Nobody waits: supervisor and warden could wait for each other. As a rule everything is
 * sent at once, and nothing is copied.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct iovec;
struct letter;

struct outbox {
	struct letter *first, *last;
};

/* Send PARTS (2 at most) as one packet with copies of FDS; now, or by outbox_flush(). 0,
 * 1 when it has to wait, or -errno. */
int outbox_send(struct outbox *box, int channel, const struct iovec *parts, size_t n_parts,
		const int *fds, size_t n_fds);
/* The channel has room: true when nothing is left. */
bool outbox_flush(struct outbox *box, int channel);
void outbox_release(struct outbox *box);
