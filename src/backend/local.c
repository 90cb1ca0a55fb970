/* SPDX-License-Identifier: MIT */
#include "backend/local.h"

#include "engine/engine.h"

int local_run(const struct plan *plan, int stdout_fd, struct result *ret, struct err *err)
{
	return engine_run(plan, stdout_fd, ret, err);
}
