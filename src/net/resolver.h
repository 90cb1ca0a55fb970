/* SPDX-License-Identifier: MIT */
/*
 * resolver - answers DNS questions inside, for names that may be reached.
 *
 * Others get NXDOMAIN, and a refusal is told. An allowed name is looked up outside first, so
 * that one that does not exist is said not to; the addresses of the answer are those of names.h.
 */
#pragma once
#include "net/rules.h"

struct broker_ear;
struct err;
struct lookups;
struct names;
struct poller;
struct resolver;

/* RULES, NAMES and LOOKUPS outlive it. HAS_V6: AAAA is answered, too. */
int resolver_new(struct poller *poller, const struct rules *rules, struct names *names,
		 struct lookups *lookups, const struct broker_ear *ear, struct resolver **ret,
		 struct err *err);
/* A datagram socket and a listening stream socket, bound to NAMES_RESOLVER port 53. */
void resolver_take(struct resolver *resolver, int datagrams, int stream);
/* Who asks next, as far as the observer knows. NULL: nobody. */
void resolver_note_program(struct resolver *resolver, const char *program);
struct resolver *resolver_free(struct resolver *resolver);
