/* SPDX-License-Identifier: MIT */
#include "api/run-notes.h"

#include <stdio.h>

#include "api/run.h"
#include "base/cleanup.h"
#include "base/size.h"
#include "policy/remedy.h"

enum { SHOWN = 1 };

/* How many attempts are not told of by name. */
static uint64_t count_others(const struct violations *violations, const struct violation *shown)
{
	uint64_t others = violations->dropped;

	for (size_t i = 0; i < violations->len; i++)
		if (&violations->items[i] != shown &&
		    violations->items[i].weight != VIOLATION_PROBE)
			others += violations->items[i].count;
	return others;
}

static void note_refused(const struct violations *violations, run_note_fn *say, void *data)
{
	const struct violation *v;
	struct err err = {0};
	char times[40] = "", others[80] = "";
	uint64_t more;

	if (violations_rank(violations, &v, SHOWN) == 0)
		return;
	if (v->count > 1)
		snprintf(times, sizeof(times), ", %llu times", (unsigned long long)v->count);
	more = count_others(violations, v);
	if (more > 0)
		snprintf(others, sizeof(others), " (and %llu more: pale why)",
			 (unsigned long long)more);
	err_set(&err, ERR_POLICY, 0, "denied: %s%s%s%s%s%s%s", v->op, v->target ? " " : "",
		v->target ? v->target : "", v->rule ? ", by " : "", v->rule ? v->rule : "", times,
		others);
	if (v->fix)
		err_hint(&err, 0, "to allow it: %s%s", v->fix,
			 violation_guess(v->dimension, v->op, v->fix));
	say(data, &err);
}

/* One line for each thing that happened to a protected name. */
static void note_event(const struct event *event, run_note_fn *say, void *data)
{
	struct err err = {0};

	switch (event->action) {
	case TAMPER_QUARANTINED:
		err_set(&err, ERR_POLICY, 0,
			"tampering: %s was created during the run and is now %s", event->path,
			event->where);
		break;
	case TAMPER_RESTORED:
		err_set(&err, ERR_POLICY, 0,
			"tampering: the link %s was changed and is as it was%s%s", event->path,
			event->where ? "; what replaced it is now " : "",
			event->where ? event->where : "");
		break;
	case TAMPER_REBOUND:
		err_set(&err, ERR_POLICY, 0,
			"%s was replaced outside; inside it is read-only again, but look at what "
			"is in it",
			event->path);
		break;
	case TAMPER_GONE:
		err_set(&err, ERR_POLICY, 0, "tampering: %s was created and removed during the run",
			event->path);
		break;
	case TAMPER_ENDED:
		err_set(&err, ERR_POLICY, 0, "the run was ended over %s: %s%s%s", event->path,
			event->reason, event->where ? "; what was there is now " : "",
			event->where ? event->where : "");
		break;
	}
	say(data, &err);
}

static void note_events(const struct events *events, run_note_fn *say, void *data)
{
	struct err err = {0};

	for (size_t i = 0; i < events->len; i++) {
		const struct event *event = &events->items[i];

		/* The same again is no news. */
		if (i > 0 && event->action == TAMPER_GONE && event[-1].action == TAMPER_GONE &&
		    str_eq(event->path, event[-1].path))
			continue;
		note_event(event, say, data);
	}
	if (events->dropped == 0)
		return;
	err_set(&err, ERR_POLICY, 0, "tampering: %llu times more",
		(unsigned long long)events->dropped);
	say(data, &err);
}

/* Who set the limit can set another. */
static void hint_limit(const struct run *run, enum dim dim, struct err *err)
{
	const char *option = spec_keys[dim].option;
	_cleanup_(remedy_release) struct remedy remedy = {0};

	if (!run->session &&
	    remedy_find(&run->resolved.spec, &run->context.user, dim_name(dim), "limit", NULL,
			&remedy, NULL) == 0 &&
	    remedy.possible)
		err_hint(err, 0, "pale run %s %s allows more", remedy.option,
			 run->command ? run->command : "…");
	else if (!run->session)
		err_hint(err, 0, "pale run --%s MORE allows more", option);
	else if (*spec_limit_const(&run->resolved.spec, dim) < *spec_limit_const(run->granted, dim))
		err_hint(err, 0, "pale exec --%s MORE allows more", option);
	else
		err_hint(err, 0,
			 "it is the limit of session '%s': one that was started with --%s MORE "
			 "allows more",
			 run->session, option);
}

/* What ended the run, when it was pale or a limit: never a bare 137. */
static void note_end(const struct run *run, run_note_fn *say, void *data)
{
	_cleanup_(str_release) struct str value = {0};
	const struct result *result = &run->result;
	char limit[SIZE_TEXT_MAX];
	struct err err = {0};

	if (result->outcome == OUTCOME_TIMEOUT) {
		err_set(&err, ERR_SYSTEM, 0, "timed out after %s",
			duration_format(run->plan->timeout_ms, limit));
		say(data, &err);
	} else if (result->limit) {
		enum dim dim = dim_by_name(result->limit);

		(void)spec_print_dim(&run->resolved.spec, dim, &value);
		err_set(&err, ERR_SYSTEM, 0, "%s = %s was reached", result->limit,
			str_text(&value));
		hint_limit(run, dim, &err);
		say(data, &err);
	}
}

void run_notes(const struct run *run, run_note_fn *say, void *data)
{
	note_end(run, say, data);
	if (result_status(&run->result) != 0)
		note_refused(&run->result.violations, say, data);
	note_events(&run->result.events, say, data);
}
