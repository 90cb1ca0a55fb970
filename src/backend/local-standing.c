/* SPDX-License-Identifier: MIT */
#include "backend/standing.h"

#include <errno.h>
#include <stdlib.h>

#include "backend/local-network.h"
#include "backend/run-ear.h"
#include "base/err.h"
#include "engine/stand.h"
#include "observe/observer.h"
#include "plan/plan.h"
#include "result/result.h"
#include "warden/step.h"

struct standing {
	struct stand *stand;
	const struct plan *plan;
	const struct standing_ear *ear;
	bool observed;
	struct run_ear asking;
	struct local_network network; /* of all errands */
};

/* Of one errand; with an observer it lives as long as what the errand left behind. */
struct own {
	struct standing *standing;
	uint32_t id;
	bool observed;
	struct broker_usage before; /* it began */
	struct observer observer;
	struct violations found;
};

static struct own *own_free(struct own *own)
{
	if (own->observed) {
		observer_finish(&own->observer);
		local_network_remove(&own->standing->network, &own->observer);
	}
	violations_release(&own->found);
	free(own);
	return NULL;
}

static void begin(void *data, int listener)
{
	struct own *own = data;

	observer_begin(&own->observer, listener);
}

static bool serve(void *data)
{
	struct own *own = data;

	return local_network_serve(&own->standing->network, &own->observer);
}

static void noted(void *data, struct violations *found, struct violation *new)
{
	const struct own *own = data;
	const struct standing_ear *ear = own->standing->ear;

	ear->refused(ear->data, own->id, found, new);
}

static void done(void *data)
{
	own_free(data);
}

static void on_terminal(void *data, void *own, int master)
{
	struct standing *s = data;

	s->ear->terminal(s->ear->data, ((struct own *)own)->id, master);
}

static void on_stopped(void *data, void *own)
{
	struct standing *s = data;

	s->ear->stopped(s->ear->data, ((struct own *)own)->id);
}

/* What is seen of it later has no result to be in. */
static void on_ended(void *data, void *owned, struct result *result, const struct err *failed)
{
	struct standing *s = data;
	struct own *own = owned;
	uint32_t id = own->id;

	local_network_judge(&s->network, &own->before, result);
	if (own->observed) {
		own->observer.noted = NULL;
		observer_finish(&own->observer);
		result->violations = own->found;
		own->found = (struct violations){0};
	} else {
		own_free(own);
	}
	s->ear->ended(s->ear->data, id, result, failed);
}

static void on_tampered(void *data, const struct events *events)
{
	struct standing *s = data;

	s->ear->tampered(s->ear->data, events);
}

static void on_gone(void *data)
{
	struct standing *s = data;

	s->ear->gone(s->ear->data);
}

int standing_open(struct plan *plan, struct loop *loop, const struct standing_ear *ear,
		  struct standing **ret, struct err *err)
{
	struct standing *s = calloc(1, sizeof(*s));
	struct stand_ear own = {.terminal = on_terminal,
				.stopped = on_stopped,
				.ended = on_ended,
				.tampered = ear->tampered ? on_tampered : NULL,
				.gone = on_gone,
				.data = s};
	int r;

	if (!s)
		return err_oom(err);
	plan_share(plan);
	s->plan = plan;
	s->ear = ear;
	s->observed = step_observed(plan->ops, plan->ops_len);
	s->asking = (struct run_ear){.ask = ear->ask, .data = ear->data};
	local_network_init(&s->network, plan, &s->asking);
	r = stand_open(plan, loop, &own, local_network_gateway(&s->network), &s->stand, err);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

int standing_start(struct standing *s, const struct errand *errand, struct err *err)
{
	struct own *own = calloc(1, sizeof(*own));
	const struct watcher watcher = {.begin = begin, .serve = serve, .done = done, .data = own};
	int r;

	if (!own)
		return err_oom(err);
	own->id = errand->id;
	own->observed = s->observed;
	own->standing = s;
	if (s->network.broker)
		broker_usage(s->network.broker, &own->before);
	if (own->observed) {
		observer_init(&own->observer, s->plan, &own->found, NULL);
		own->observer.noted = s->ear->refused ? noted : NULL;
		own->observer.data = own;
	}
	if (own->observed && local_network_add(&s->network, &own->observer) < 0) {
		own->observed = false;
		own_free(own);
		return err_oom(err);
	}
	r = stand_start(s->stand, errand, own->observed ? &watcher : NULL, own, err);
	if (r < 0)
		own_free(own);
	return r;
}

bool standing_network(const struct standing *s, struct standing_network *ret)
{
	struct broker_usage usage;

	if (!s->network.broker)
		return false;
	broker_usage(s->network.broker, &usage);
	*ret = (struct standing_network){.rules = broker_rules(s->network.broker),
					 .connections = usage.connections,
					 .sent = usage.sent,
					 .received = usage.received};
	return true;
}

int standing_narrow(struct standing *s, const char *rule, unsigned *ret_gone, struct err *err)
{
	if (!s->network.broker)
		return err_set(err, ERR_USAGE, -ENOENT, "nothing is reached from this session");
	return broker_narrow(s->network.broker, rule, ret_gone, err);
}

int standing_widen(struct standing *s, const char *rule, struct err *err)
{
	if (!s->network.broker)
		return err_set(err, ERR_USAGE, -ENOENT,
			       "a session that was started with a network of its own keeps it");
	return broker_widen(s->network.broker, rule, err);
}

void standing_signal(struct standing *s, uint32_t id, int sig)
{
	stand_signal(s->stand, id, sig);
}

void standing_end(struct standing *s, uint32_t id)
{
	stand_end(s->stand, id);
}

pid_t standing_pid(const struct standing *s)
{
	return stand_pid(s->stand);
}

/* The observed ones are released by their watcher. */
static void forget(void *data)
{
	struct own *own = data;

	if (!own->observed)
		own_free(own);
}

struct standing *standing_close(struct standing *s, struct result *ret)
{
	if (!s)
		return NULL;
	stand_close(s->stand, forget, ret);
	if (ret)
		local_network_judge(&s->network, NULL, ret);
	local_network_release(&s->network);
	free(s);
	return NULL;
}
