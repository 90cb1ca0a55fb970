/* SPDX-License-Identifier: MIT */
#include "cli/why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cli/history-verb.h"
#include "store/store.h"

static int no_history(struct err *err)
{
	err_set(err, ERR_SYSTEM, -ENOENT, "nothing has been run here yet");
	return err_hint(err, -ENOENT, "pale runs lists what has been, in each workspace");
}

static int add_note(const struct store_event *event, struct strv *notes)
{
	_cleanup_(freep) char *path = NULL, *where = NULL;

	if (str_eq(event->kind, "sandbox.degraded"))
		return strv_addf(notes, "%s was enforced only in part", event->dimension);
	if (!str_eq(event->kind, "sandbox.tamper"))
		return 0;
	path = store_event_text(event, "path");
	where = store_event_text(event, "where");
	return strv_addf(notes, "a protected path was touched: %s, %s%s%s", path ? path : "?",
			 event->code ? event->code : "seen", where ? ", now at " : "",
			 where ? where : "");
}

static int add_notes(struct store *store, struct why *why, struct err *err)
{
	struct events_query query = {.kind = "sandbox", .run = why->record.id};
	struct store_event *events = NULL;
	size_t len = 0;
	int r = store_events(store, &query, &events, &len, err);

	for (size_t i = 0; i < len && r == 0; i++)
		if (add_note(&events[i], &why->explanation.notes) < 0 ||
		    put_annotations(store, &events[i], true, &why->annotations) < 0)
			r = err_oom(err);
	store_events_free(events, len);
	return r;
}

/* What the policy of the command, or of ad-hoc runs, says today. */
static bool resolve(const struct why *why, struct resolved *ret)
{
	const struct context *context = &why->context;

	return !why->config_err.message[0] &&
	       spec_resolve(&context->config, why->record.command, NULL, &context->workspace,
			    &context->user, ret, NULL) == 0;
}

static int explain(struct store *store, struct why *why, struct err *err)
{
	_cleanup_(resolved_release) struct resolved resolved = {0};
	_cleanup_(violations_release) struct violations violations = {0};
	bool known = resolve(why, &resolved);
	int r = store_violations(store, why->record.id, &violations, err);

	if (r < 0)
		return r;
	r = explain_run(&why->record, &violations, known ? &resolved.spec : NULL,
			&why->context.user, &why->explanation, err);
	return r < 0 ? r : add_notes(store, why, err);
}

static int load_context(const char *workspace, struct why *why, struct err *err)
{
	struct context *context = &why->context;
	int r = context_load(workspace, context, &why->config_err);

	if (r == 0)
		return 0;
	r = user_probe(&context->user, err);
	return r < 0 ? r : workspace_find(workspace, &context->user, &context->workspace, err);
}

int why_load(const char *workspace, const char *run, struct why *ret, struct err *err)
{
	_cleanup_(why_release) struct why why = {0};
	_cleanup_(store_closep) struct store *store = NULL;
	struct store_notes notes = {0};
	int r = load_context(workspace, &why, err);

	if (r < 0)
		return r;
	r = store_open(&why.context.workspace, &store, &notes, err);
	if (r == -ENOENT && !store)
		return no_history(err);
	if (r == 0)
		r = store_find_run(store, run ? run : "last", &why.record, err);
	if (r == 0 && !why.config_err.message[0])
		history_annotate(&why.context, store);
	if (r == 0)
		r = explain(store, &why, err);
	if (r == 0 && notes.text[0] && strv_add(&why.explanation.notes, notes.text) < 0)
		r = err_oom(err);
	if (r < 0)
		return r;
	*ret = why;
	why = (struct why){0};
	return 0;
}

void why_release(struct why *why)
{
	explanation_release(&why->explanation);
	str_release(&why->annotations);
	run_record_release(&why->record);
	context_release(&why->context);
	*why = (struct why){0};
}
