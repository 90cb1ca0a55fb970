/* SPDX-License-Identifier: MIT */
/* allow - the plan's Landlock operations, for the command to enter. */
#pragma once

struct err;
struct landlock;
struct op;
struct plan;

/* A set without rules, about what OP_LANDLOCK of PLAN says; none without one. */
int allow_begin(const struct plan *plan, struct landlock *ret, struct err *err);
/* OP_ALLOW: by the name in the root that we are in, without following a link. */
int allow_apply(const struct landlock *landlock, const struct op *op, struct err *err);
