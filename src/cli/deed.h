/* SPDX-License-Identifier: MIT */
/* deed - what a verb did to staged writes, for the history. */
#pragma once
#include <stdint.h>

struct user;
struct workspace;

/* KIND: "apply.done", …; ID: of the deed, which no other of that kind has. What went
 * wrong is said, and no reason to fail. */
void deed_remember(const struct workspace *workspace, const struct user *user, const char *kind,
		   const char *id, const char *stage, uint64_t changes);
