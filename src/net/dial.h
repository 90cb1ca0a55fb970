/* SPDX-License-Identifier: MIT */
/*
 * dial - a connection outside, to the first of several addresses that answers.
 *
 * The next address is tried when one fails, or after a quarter of a second beside it.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "net/endpoint.h"

struct dial;
struct dials;
struct poller;

/* FD: connected, the callee's; or -errno of the last that failed, -ETIMEDOUT after DIAL_MS. */
typedef void dial_fn(void *data, int fd, const struct endpoint *to);

enum { DIAL_MS = 30000, DIAL_NEXT_MS = 250 };

int dials_new(struct poller *poller, struct dials **ret);
/* May call FN before it returns; loopback is known at once. RET lives as long as the dial:
 * *ret is NULL from FN on. */
int dial_start(struct dials *dials, const struct in6_addr *addresses, size_t len, uint16_t port,
	       dial_fn *fn, void *data, struct dial **ret);
void dial_cancel(struct dials *dials, struct dial *dial); /* FN is not called */
struct dials *dials_free(struct dials *dials);
