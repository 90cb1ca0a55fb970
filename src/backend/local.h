/* SPDX-License-Identifier: MIT */
/* local - the backend that is this machine. */
#pragma once

struct err;
struct plan;
struct result;

/* As engine_run(). */
int local_run(const struct plan *plan, int stdout_fd, struct result *ret, struct err *err);
