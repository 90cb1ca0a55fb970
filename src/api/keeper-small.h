/* SPDX-License-Identifier: MIT */
/* keeper-small - a keeper that waits needs next to no memory. */
#pragma once

#define KEEPER_REST_NS 300000000ull /* without a request, until it gives back what it can */

/* Let go of pages of the program itself: those that are needed come back. */
void keeper_be_small(void);
