/* SPDX-License-Identifier: MIT */
#include "backend/standing.h"

#include <stdlib.h>

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
};

/* Of one errand; with an observer it lives as long as what the errand left behind. */
struct own {
	uint32_t id;
	bool observed;
	struct observer observer;
	struct violations found;
};

static struct own *own_free(struct own *own)
{
	if (own->observed)
		observer_finish(&own->observer);
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

	return observer_serve(&own->observer);
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

	if (own->observed) {
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
	r = stand_open(plan, loop, &own, NULL, &s->stand, err);
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
	if (own->observed)
		observer_init(&own->observer, s->plan, &own->found, NULL);
	r = stand_start(s->stand, errand, own->observed ? &watcher : NULL, own, err);
	if (r < 0)
		own_free(own);
	return r;
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
	free(s);
	return NULL;
}
