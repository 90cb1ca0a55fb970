/* SPDX-License-Identifier: MIT */
/*
 * resolver - answers DNS questions inside, for names that may be reached.
 *
 * Others get NXDOMAIN, and a refusal is told. An allowed name is looked up outside first, so
 * that one that does not exist is said not to; the addresses of the answer are those of names.h.
 * `localhost` is the loopback inside.
 */
#pragma once
#include "net/rules.h"

struct broker_ear;
struct err;
struct lookups;
struct names;
struct poller;
struct resolver;

/* RULES, NAMES, LOOKUPS and EAR outlive it. With `ear->ask` every name gets an address: the user
 * is asked when it is connected to, and nothing is looked up before. */
int resolver_new(struct poller *poller, const struct rules *rules, struct names *names,
		 struct lookups *lookups, const struct broker_ear *ear, struct resolver **ret,
		 struct err *err);
/* A datagram socket and a listening stream socket, bound to NAMES_RESOLVER port 53; or -1.
 * They are the resolver's from here on. AAAA is answered when the stream socket is of IPv6. */
void resolver_take(struct resolver *resolver, int datagrams, int stream);
/* Who asks next, as far as the observer knows. NULL: nobody. */
void resolver_note_program(struct resolver *resolver, const char *program);
struct resolver *resolver_free(struct resolver *resolver); /* NULL ok */
