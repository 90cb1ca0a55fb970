/* SPDX-License-Identifier: MIT */
#include "backend/local.h"

#include "engine/engine.h"
#include "engine/sample.h"
#include "observe/observer.h"
#include "result/result.h"
#include "warden/step.h"
#include "plan/plan.h"

static void begin(void *data, int listener)
{
	observer_begin(data, listener);
}

static bool serve(void *data)
{
	return observer_serve(data);
}

int local_run(const struct plan *plan, const struct stdio *stdio, struct profile *profile,
	      struct result *ret, struct err *err)
{
	struct observer observer;
	const struct watcher watcher = {.begin = begin, .serve = serve, .data = &observer};
	int r;

	if (!step_observed(plan->ops, plan->ops_len))
		return engine_run(plan, stdio, NULL, NULL, ret, err);
	observer_init(&observer, plan, &ret->violations, profile);
	r = engine_run(plan, stdio, &watcher, NULL, ret, err);
	observer_finish(&observer);
	return r;
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
