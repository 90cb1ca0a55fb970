/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/history-verb.h"
#include "config/keys.h"
#include "store/annotate.h"
#include "view/event-json.h"
#include "view/table.h"

enum { EVENTS_DEFAULT = 20, FOLLOW_MS = 200 };

void event_json(struct store *store, const struct store_event *event, struct json *json)
{
	struct annotation *annotations = NULL;
	size_t len = 0;

	json_begin_object(json, NULL);
	event_members(event, json);
	if (store_annotations(store, event->id, &annotations, &len, NULL) == 0)
		annotations_json(annotations, len, json);
	annotations_free(annotations, len);
	json_end_object(json);
}

static int list_json(struct store *store, const struct store_event *events, size_t len)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};

	json_begin_array(&json, NULL);
	for (size_t i = 0; i < len; i++)
		event_json(store, &events[i], &json);
	json_end_array(&json);
	return emit_json(&json);
}

/* One object per line: for a reader that does not wait for the end. */
static int follow_json(struct store *store, const struct store_event *events, size_t len)
{
	_cleanup_(str_release) struct str out = {0};

	for (size_t i = 0; i < len; i++) {
		struct json json = {.out = &out};

		event_json(store, &events[i], &json);
		if (json_finish(&json) < 0 || str_append_char(&out, '\n') < 0)
			return report_oom();
	}
	return emit(&out);
}

/* The path, the address or the stage that EVENT is about: a new string, or NULL. */
static char *subject(const struct store_event *event)
{
	static const char *const keys[] = {"target", "path", "stage"};
	char *text = NULL;

	for (size_t i = 0; i < array_len(keys) && !text; i++)
		text = store_event_text(event, keys[i]);
	return text;
}

static int print_text(struct store *store, const struct store_event *events, size_t len,
		      bool heading)
{
	static const char *const heads[] = {"TIME",      "KIND", "SEVERITY", "RUN",
					    "DIMENSION", "CODE", "WHAT",     NULL};
	_cleanup_(table_release) struct table table = {.heads = heading ? heads : NULL,
						       .columns = 7};
	_cleanup_(str_release) struct str out = {0};
	int r = 0;

	table_fit(&table);
	for (size_t i = 0; i < len && r == 0; i++) {
		_cleanup_(freep) char *what = subject(&events[i]);
		char time[TIME_TEXT_MAX];
		const char *cells[] = {time_format(events[i].time_ms, time),
				       events[i].kind,
				       events[i].severity,
				       events[i].run,
				       events[i].dimension,
				       events[i].code,
				       what};

		for (size_t k = 0; k < array_len(cells) && r == 0; k++)
			r = table_add(&table, cells[k]);
	}
	if (r == 0)
		r = len > 0 ? table_print(&table, &out) : str_append(&out, "no events\n");
	for (size_t i = 0; i < len && r == 0; i++)
		r = put_annotations(store, &events[i], false, &out);
	return r < 0 ? report_oom() : emit(&out);
}

static int list(struct history_verb *verb, const struct events_query *query, bool follow,
		int64_t *ret_last, struct err *err)
{
	bool as_json = verb->args.values[OPT_JSON] != NULL;
	bool heading = !follow || *ret_last == 0;
	struct store_event *events = NULL;
	size_t len = 0;
	int r = verb->store ? store_events(verb->store, query, &events, &len, err) : 0;

	if (r < 0)
		return report(err);
	if (len > 0)
		*ret_last = events[len - 1].id;
	if (as_json)
		r = follow ? follow_json(verb->store, events, len)
			   : list_json(verb->store, events, len);
	else if (len > 0 || !follow)
		r = print_text(verb->store, events, len, heading);
	store_events_free(events, len);
	return r;
}

/* Until somebody ends us, or nobody reads any more. */
static int follow(struct history_verb *verb, struct events_query query, struct err *err)
{
	int64_t last = query.after;
	int r = list(verb, &query, true, &last, err);

	query.max = 0;
	while (r == STATUS_OK) {
		query.after = last;
		nanosleep(&(struct timespec){.tv_nsec = FOLLOW_MS * 1000000L}, NULL);
		if (!verb->store) {
			int opened = history_verb_open(verb, err);

			if (opened < 0 && (opened != -ENOENT || err->message[0]))
				return report(err);
		} else {
			int folded = store_refresh(verb->store, err);

			/* Somebody else is folding: then next time. */
			if (folded < 0 && folded != -EBUSY)
				return report(err);
			if (folded == 1)
				query.after = last = 0;
		}
		r = list(verb, &query, true, &last, err);
	}
	return r;
}

/* A kind, or the word before its dot. */
static int check_kind(const char *kind, struct err *err)
{
	const char *near;
	size_t len = 0;

	for (; event_kinds[len]; len++)
		if (str_eq(event_kinds[len], kind))
			return 0;
	near = str_nearest(kind, event_kinds, len);
	err_set(err, ERR_USAGE, -EINVAL, "--kind: \"%.40s\" is none", kind);
	if (near)
		return err_hint(err, -EINVAL, "did you mean %s?", near);
	return err_hint(err, -EINVAL,
			"sandbox, session, apply, stage, or one of theirs: man pale-events");
}

static int fill_query(struct history_verb *verb, struct events_query *query, struct run_record *run,
		      struct err *err)
{
	const char *which = verb->args.values[OPT_RUN];
	int r = history_time("--since", verb->args.values[OPT_SINCE], &query->since_ms, err);

	query->kind = verb->args.values[OPT_KIND];
	if (r == 0 && query->kind)
		r = check_kind(query->kind, err);
	if (r == 0)
		r = history_number(verb->args.values[OPT_NUMBER], EVENTS_DEFAULT, &query->max, err);
	if (r < 0 || !which)
		return r;
	if (!verb->store)
		return err_set(err, ERR_USAGE, -ENOENT, "no run is remembered yet");
	r = store_find_run(verb->store, which, run, err);
	query->run = run->id;
	return r;
}

int cmd_events_list(int argc, char **argv)
{
	_cleanup_(history_verb_release) struct history_verb verb = {0};
	_cleanup_(run_record_release) struct run_record run = {0};
	struct events_query query = {0};
	struct err err = {0};
	int64_t last = 0;
	int r = history_verb_begin(VERB_EVENTS_LIST, argc, argv, &verb, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = fill_query(&verb, &query, &run, &err);
	if (r < 0)
		return report(&err);
	return verb.args.values[OPT_FOLLOW] ? follow(&verb, query, &err)
					    : list(&verb, &query, false, &last, &err);
}
