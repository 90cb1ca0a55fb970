/* SPDX-License-Identifier: MIT */
/* scope - start over inside a systemd scope that is delegated to us. */
#pragma once

struct err;

/* Replaces this process by systemd-run and that by ourselves, with the same
 * arguments. Returns only on failure. */
int scope_enter(struct err *err);
