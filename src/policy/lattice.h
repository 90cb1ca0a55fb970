/* SPDX-License-Identifier: MIT */
/*
 * lattice - the order on specs.
 *
 * By meaning, not by spelling: paths, hosts and variables are compared as the
 * sets that they stand for, so that `workspace_only` is not within
 * `scoped_write` of one sub-folder although its name ranks before it. Two
 * specs that allow the same are equal here.
 *
 * A spec stands for these sets: what can be read and what can be written (less
 * what is hidden), the host's sockets (less what is hidden), the caches, host
 * rules, loopback ports, exposed ports and variables. filesystem unrestricted
 * holds every socket and cache, network unrestricted every host and port.
 * Unless something is writable, `ephemeral` makes no difference.
 */
#pragma once
#include "policy/spec.h"

/* The dimensions in which A is looser than B: 0 means that A is within B. A
 * level that exceeds is named together with the lists that do. */
dim_set spec_excess(const struct spec *a, const struct spec *b);
static inline bool spec_leq(const struct spec *a, const struct spec *b)
{
	return spec_excess(a, b) == 0;
}
/* The loosest spec that is within both. A's workspace is kept, B's where A has
 * none. *ret is overwritten, not released first. -ENOMEM is the only failure. */
int spec_meet(const struct spec *a, const struct spec *b, struct spec *ret, struct err *err);
