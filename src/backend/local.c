/* SPDX-License-Identifier: MIT */
#include "backend/local.h"

#include "engine/engine.h"
#include "engine/sample.h"

int local_run(const struct plan *plan, const struct stdio *stdio, struct result *ret,
	      struct err *err)
{
	return engine_run(plan, stdio, ret, err);
}

int local_try(const struct plan *plan, struct err *err)
{
	return engine_try(plan, err);
}

const char *local_find_bwrap(struct err *err)
{
	return engine_find_bwrap(err);
}

uint64_t local_memory(pid_t pid)
{
	struct sample sample;

	return sample_tree(pid, &sample) < 0 || sample.memory == 0 ? UINT64_MAX : sample.memory;
}
