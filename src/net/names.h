/* SPDX-License-Identifier: MIT */
/*
 * names - addresses that stand for names, inside one sandbox.
 *
 * What the resolver answers is no address of the world: 198.18.0.0/15 and a unique local
 * prefix, one number for each name, in order. A connection to one says which name is meant, so
 * the broker resolves it itself, outside. Both families of a name lead to the same.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "net/endpoint.h"

#define NAMES_MAX      4096
#define NAMES_RESOLVER "198.18.0.1" /* where the resolver of a sandbox listens, port 53 */

struct names {
	char **items;
	uint32_t len, cap;
};

/* The number of NAME (canonical), given when it has none. -ENOSPC: too many names; -ENOMEM. */
int names_number(struct names *names, const char *name, uint32_t *ret);
void names_address(uint32_t number, int family, struct in6_addr *ret);
/* The name that an address stands for; NULL: none. */
const char *names_find(const struct names *names, const struct in6_addr *address);
bool names_is_synthetic(const struct in6_addr *address); /* of the two ranges, given or not */
void names_release(struct names *names);
