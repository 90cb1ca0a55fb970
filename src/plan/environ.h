/* SPDX-License-Identifier: MIT */
/* environ - the command's environment, built from nothing. */
#pragma once

struct plan;
struct resolved;
struct site;

/* Fill plan->env. 0 or -ENOMEM. */
int environ_compile(struct plan *plan, const struct resolved *resolved, const struct site *site);
