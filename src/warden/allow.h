/* SPDX-License-Identifier: MIT */
/* allow - the plan's Landlock operations, for the command to enter. */
#pragma once
#include <stddef.h>

struct err;
struct landlock;
struct op;

/* A set without rules, about what OP_LANDLOCK among OPS says; none without one. */
int allow_begin(const struct op *ops, size_t len, struct landlock *ret, struct err *err);
/* From here on its rules are kept: many are to enter it. */
void allow_keep(struct landlock *landlock);
/* OP_ALLOW: by the name in the root that we are in, without following a link. */
int allow_apply(const struct landlock *landlock, const struct op *op, struct err *err);
