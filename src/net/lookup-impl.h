/* SPDX-License-Identifier: MIT */
/* lookup-impl - the process that asks for one name, between lookup.c and lookup-child.c. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "net/lookup.h"

/* What comes back from it, as it is. */
struct lookup_wire {
	int32_t error; /* 0, -ENOENT, -EAGAIN; as struct lookup_answer has it */
	uint32_t len;
	struct in6_addr addresses[LOOKUP_ADDRESSES_MAX];
};

struct lookup_child {
	pid_t pid; /* 0: none */
	int pidfd;
	int fd; /* becomes readable when it has an answer, or has ended */
};

int lookup_child_start(struct lookup_child *child, const char *name); /* 0 or -errno */
/* Whatever it sent, *ret is well-formed. */
void lookup_child_read(struct lookup_child *child, struct lookup_wire *ret);
void lookup_child_end(struct lookup_child *child); /* killed, if need be, and reaped */
