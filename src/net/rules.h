/* SPDX-License-Identifier: MIT */
/*
 * rules - what may be reached, of a plan; and what became of that since. Pure.
 *
 * A copy of its own: rules of a sandbox that stays up change while it lives.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct endpoint;
struct err;
struct plan_net;

struct rules {
	struct strv hosts; /* canonical, one port each */
	bool loopback, ports_set;
	struct strv ports;
};

int rules_init(struct rules *rules, const struct plan_net *net); /* 0 or -ENOMEM */
void rules_release(struct rules *rules);
/* NAME: canonical, see name_canonical(). At PORT, or (0) at any. */
bool rules_allow_name(const struct rules *rules, const char *name, uint16_t port);
/* As a literal. Loopback addresses by `loopback` and ports, or by a rule of their own. */
bool rules_allow_address(const struct rules *rules, const struct endpoint *e);
/* By a rule that is an address or a network; `loopback` is none. At its port, or (0) at any. */
bool rules_have_literal(const struct rules *rules, const struct endpoint *e);
/* Take back every rule that RULE covers: "name", "name:port", an address, a network, "localhost"
 * for the host's loopback; without a port at all of them. -EINVAL: not a rule; -ENOTSUP: a wider one would still allow it, and nothing was changed. */
int rules_narrow(struct rules *rules, const char *rule, struct err *err);
int rules_widen(struct rules *rules, const char *rule, struct err *err);

#define NAME_CANONICAL_MAX 254
/* LEN bytes of a name as somebody spelled it: lower case, no trailing dot. False: no host name. */
bool name_canonical(const char *text, size_t len, char ret[NAME_CANONICAL_MAX]);
