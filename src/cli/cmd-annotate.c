/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>

#include "api/annotate.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/history-verb.h"
#include "cli/stage-verb.h"

enum { ANNOTATE_DEFAULT = 256, EAGER_BUDGET_MS = 10000 };
#define EAGER_AGE_MS ((uint64_t)24 * 3600 * 1000)

void history_annotate(const struct context *context, struct store *store)
{
	_cleanup_(annotate_report_release) struct annotate_report report = {0};
	uint64_t now = clock_wall_ms();
	struct annotate_request request = {
		.eager_only = true,
		.since_ms = now > EAGER_AGE_MS ? now - EAGER_AGE_MS : 0,
		.max = ANNOTATE_DEFAULT,
		.budget_ms = EAGER_BUDGET_MS,
	};
	struct err err = {0};

	/* What it could add is no reason not to show the rest. */
	if (annotate_events(context, store, &request, &report, &err) < 0)
		say("annotators: %s", err.message);
	else if (report.cut)
		say("annotators took too long; pale events annotate goes on");
}

static int print_json(const struct annotate_report *report)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};

	json_begin_object(&json, NULL);
	json_add_uint(&json, "annotated", report->annotated);
	json_add_uint(&json, "silent", report->silent);
	json_add_uint(&json, "failed", report->failed);
	json_add_strv(&json, "refused", &report->refused);
	json_end_object(&json);
	return emit_json(&json);
}

static int print_text(const struct annotate_report *report)
{
	_cleanup_(str_release) struct str out = {0};
	int r = str_appendf(
		&out, "%" PRIu64 " annotated, %" PRIu64 " without an answer, %" PRIu64 " failed\n",
		report->annotated, report->silent, report->failed);

	for (size_t i = 0; i < report->refused.len; i++)
		say("not an annotator: %s", report->refused.items[i]);
	return r < 0 ? report_oom() : emit(&out);
}

static int annotate(struct history_verb *verb, struct annotate_report *report, struct err *err)
{
	_cleanup_(run_record_release) struct run_record run = {0};
	struct annotate_request request = {.again = true};
	const char *which = verb->args.values[OPT_RUN];
	int r = history_time("--since", verb->args.values[OPT_SINCE], &request.since_ms, err);

	if (r == 0)
		r = history_number(verb->args.values[OPT_NUMBER], ANNOTATE_DEFAULT, &request.max,
				   err);
	if (r < 0)
		return r;
	if (!verb->store)
		return which ? err_set(err, ERR_USAGE, -ENOENT, "no run is remembered yet") : 0;
	if (which) {
		r = store_find_run(verb->store, which, &run, err);
		request.run = run.id;
	}
	return r < 0 ? r : annotate_events(&verb->context, verb->store, &request, report, err);
}

int cmd_events_annotate(int argc, char **argv)
{
	_cleanup_(history_verb_release) struct history_verb verb = {0};
	_cleanup_(annotate_report_release) struct annotate_report report_ = {0};
	struct err err = {0};
	int r = history_verb_begin(VERB_EVENTS_ANNOTATE, argc, argv, &verb, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = annotate(&verb, &report_, &err);
	if (r < 0)
		return report(&err);
	return verb.args.values[OPT_JSON] ? print_json(&report_) : print_text(&report_);
}
