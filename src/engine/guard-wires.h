/* SPDX-License-Identifier: MIT */
/* guard-wires - the tripwires of a guard: for engine/guard only. */
#pragma once
#include <stdbool.h>

struct guard;
struct guard_item;

/* Only of what is mounted over must we know whether it was replaced or removed. */
bool wires_needs_both(const struct guard_item *item);
void wires_lay(struct guard *g); /* in all folders, or in none */
/* True: one was touched. Then items may have been vacant. */
bool wires_take(struct guard *g);
void wires_cut(struct guard *g);
