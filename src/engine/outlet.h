/* SPDX-License-Identifier: MIT */
/*
 * outlet - the gateway of one sandbox: opened before it, fed with its sockets, closed after it.
 *
 * A sandbox without one has an outlet all the same, which does nothing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct gateway;
struct loop;
struct plan;
struct sandbox;
struct warden_report;

struct outlet {
	const struct gateway *gateway; /* NULL: none, or not open */
	bool fed;                      /* with the first batch, without which nothing may start */
};

/* GATEWAY is looked at only when PLAN is brokered. MORE: see struct gateway. */
int outlet_open(struct outlet *o, const struct plan *plan, const struct gateway *gateway,
		struct loop *loop, int (*more)(void *data), void *data, struct err *err);
/* What came along with REPORT, which is WARDEN_SOCKETS: LEN descriptors, the outlet's from
 * here on. The first batch must be complete, -EPROTO: S waits for it, and goes on then. */
int outlet_take(struct outlet *o, const struct sandbox *s, const struct warden_report *report,
		const int *fds, size_t len, struct err *err);
void outlet_close(struct outlet *o); /* at every end */
