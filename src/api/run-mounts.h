/* SPDX-License-Identifier: MIT */
/*
 * run-mounts - what is mounted in a folder that an overlay is to stand for.
 *
 * An overlay shows what lies beneath such a mount, which nobody else sees, and writes would go
 * there.
 */
#pragma once

struct err;
struct plan;

/* -ENOTSUP: there is such a mount, and it is not hidden. Costs nothing without an overlay. */
int run_check_mounts(const struct plan *plan, struct err *err);
