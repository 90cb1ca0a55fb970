/* SPDX-License-Identifier: MIT */
/* local - the backend that is this machine. */
#pragma once

struct err;
struct plan;
struct result;
struct stdio;

/* As engine_run(). */
int local_run(const struct plan *plan, const struct stdio *stdio, struct result *ret,
	      struct err *err);
