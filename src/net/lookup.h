/* SPDX-License-Identifier: MIT */
/*
 * lookup - which addresses a name has, outside, without waiting.
 *
 * The C library resolves, hosts file and DNS, in a process of its own for each name that is
 * asked: it may take long, and reads what a stranger sent. Answers are kept for some seconds.
 *
 * Where a name may lead is judged here, for each who asks: what endpoint_complaint() or the
 * kernel's routes speak against is left out, unless a literal rule covers it at that port.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/endpoint.h"

struct err;
struct lookups;
struct poller;
struct rules;

#define LOOKUP_ADDRESSES_MAX 16

struct lookup_answer {
	int error; /* 0; -ENOENT: no such name, or it has no address; -EAGAIN: could not be asked */
	size_t len; /* of what may be dialled */
	struct in6_addr addresses[LOOKUP_ADDRESSES_MAX];
	const char *complaint;   /* why the first of those that are out is; NULL: none was */
	struct in6_addr refused; /* which one */
};

typedef void lookup_fn(void *data, const struct lookup_answer *answer);

/* RULES outlives it, and may change. */
int lookups_new(struct poller *poller, const struct rules *rules, struct lookups **ret,
		struct err *err);
/* FN is called once, now or later, unless lookup_forget(data) comes first. NAME: canonical.
 * PORT: 0 for any, as long as nothing is dialled. */
void lookup_start(struct lookups *lookups, const char *name, uint16_t port, lookup_fn *fn,
		  void *data);
void lookup_forget(struct lookups *lookups, void *data);
struct lookups *lookups_free(struct lookups *lookups); /* ends what is being asked */
/* Does the kernel deliver what goes there to this machine itself, or to many? True, too, when
 * it does not say. */
bool lookup_is_own_address(const struct in6_addr *address);
/* Why no name may lead to E, or NULL: nothing speaks against it, or a rule allows just that. */
const char *lookup_complaint(const struct rules *rules, const struct endpoint *e);
