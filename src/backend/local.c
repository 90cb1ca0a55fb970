/* SPDX-License-Identifier: MIT */
#include "backend/local.h"

#include "backend/local-network.h"
#include "backend/run-ear.h"
#include "base/err.h"
#include "engine/engine.h"
#include "engine/sample.h"
#include "observe/observer.h"
#include "result/result.h"
#include "warden/step.h"
#include "plan/plan.h"

/* One run. */
struct watched {
	struct observer observer;
	struct local_network network;
};

static void begin(void *data, int listener)
{
	struct watched *w = data;

	observer_begin(&w->observer, listener);
}

static bool serve(void *data)
{
	struct watched *w = data;

	return local_network_serve(&w->network, &w->observer);
}

static void noted(void *data, struct violations *found, struct violation *new)
{
	const struct run_ear *ear = data;

	ear->refused(ear->data, found, new);
}

static int run_observed(struct watched *w, const struct plan *plan, const struct stdio *stdio,
			const struct prelude *prelude, struct result *ret, struct err *err)
{
	const struct watcher watcher = {.begin = begin, .serve = serve, .data = w};
	int r = local_network_add(&w->network, &w->observer);

	if (r < 0)
		return err_oom(err);
	r = engine_run(plan, stdio,
		       &(struct attendants){.watcher = &watcher,
					    .gateway = local_network_gateway(&w->network),
					    .prelude = prelude},
		       ret, err);
	observer_finish(&w->observer);
	local_network_remove(&w->network, &w->observer);
	return r;
}

int local_run(const struct plan *plan, const struct stdio *stdio, struct profile *profile,
	      const struct run_ear *ear, struct result *ret, struct err *err)
{
	const struct prelude prelude = {.play = ear ? ear->starts : NULL,
					.data = ear ? ear->data : NULL};
	const struct prelude *played = prelude.play ? &prelude : NULL;
	struct watched w;
	int r;

	local_network_init(&w.network, plan, ear);
	if (step_observed(plan->ops, plan->ops_len)) {
		observer_init(&w.observer, plan, &ret->violations, profile);
		w.observer.noted = ear && ear->refused ? noted : NULL;
		w.observer.data = (void *)ear;
		r = run_observed(&w, plan, stdio, played, ret, err);
	} else {
		r = engine_run(plan, stdio, &(struct attendants){.prelude = played}, ret, err);
	}
	local_network_judge(&w.network, NULL, ret);
	local_network_release(&w.network);
	return r;
}

void local_tidy(void)
{
	engine_tidy();
}

void local_hold(bool held)
{
	engine_hold(held);
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
