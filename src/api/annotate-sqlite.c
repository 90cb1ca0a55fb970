/* SPDX-License-Identifier: MIT */
#include "api/annotate.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/context.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/json.h"
#include "policy/resolve.h"
#include "policy/spec-digest.h"
#include "store/annotate.h"
#include "store/annotators.h"
#include "store/source-context.h"
#include "view/event-json.h"

enum { OUTPUT_READ_MAX = 1 << 20, EAGER_AMONG = 1024 };

struct job {
	const struct context *context;
	struct store *store;
	const struct annotate_request *request;
	struct annotate_report *report;
	uint64_t deadline_ns; /* 0: none */
	struct err *err;
};

/* The end of what a run printed: that is where it failed. */
static int read_output(struct store *store, const char *id, struct str *ret, struct err *err)
{
	_cleanup_(fd_closep) int fd = store_output(store, id, err);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 ||
	    (st.st_size > OUTPUT_READ_MAX && lseek(fd, st.st_size - OUTPUT_READ_MAX, SEEK_SET) < 0))
		return err_sys(err, -errno, "read the output of %s", id);
	/* it cannot have grown: a run that goes on has no exit */
	return fd_read_all(fd, OUTPUT_READ_MAX, ret);
}

/* The policy that the run was under, if it is still that of today. */
static bool resolve(const struct job *job, const struct run_record *record, struct resolved *ret)
{
	const struct context *context = job->context;
	char digest[SHA256_HEX];

	if (spec_resolve(&context->config, record->command, NULL, &context->workspace,
			 &context->user, ret, NULL) < 0)
		return false;
	spec_digest(&ret->spec, digest);
	return str_eq(digest, record->spec_digest);
}

/* -ENOENT, err untouched: there is nothing to look at. */
static int ask_source(const struct job *job, const struct store_event *event, struct str *answer,
		      struct err *err)
{
	_cleanup_(run_record_release) struct run_record record = {0};
	_cleanup_(resolved_release) struct resolved resolved = {0};
	_cleanup_(str_release) struct str output = {0};
	struct err ignored = {0};
	int r;

	if (!event->run || store_find_run(job->store, event->run, &record, &ignored) < 0)
		return -ENOENT;
	r = read_output(job->store, record.id, &output, err);
	if (r < 0)
		return r;
	return source_context(job->context->workspace.root,
			      resolve(job, &record, &resolved) ? &resolved.spec : NULL,
			      str_text(&output), output.len, answer, err);
}

static int ask_program(const struct job *job, const struct annotator *annotator,
		       const struct store_event *event, struct str *answer, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	struct json json = {.out = &text};

	json_begin_object(&json, NULL);
	event_members(event, &json);
	json_add_string(&json, "workspace", job->context->workspace.root);
	json_end_object(&json);
	if (json_finish(&json) < 0 || str_append_char(&text, '\n') < 0)
		return err_oom(err);
	return annotator_ask(annotator, &job->context->user, str_text(&text), answer, err);
}

static void count(struct annotate_report *report, const struct annotation *annotation)
{
	if (str_eq(annotation->type, "error"))
		report->failed++;
	else if (str_eq(annotation->type, "none"))
		report->silent++;
	else
		report->annotated++;
}

static int annotate(const struct job *job, const struct annotator *annotator,
		    const struct store_event *event)
{
	_cleanup_(annotation_release) struct annotation annotation = {0};
	_cleanup_(str_release) struct str answer = {0};
	struct err why = {0};
	int r = annotator->path ? ask_program(job, annotator, event, &answer, &why)
				: ask_source(job, event, &answer, &why);

	if (r == -ENOENT && !why.message[0])
		return 0;
	if (r == 0)
		r = annotation_parse(str_text(&answer), answer.len, &annotation, &why);
	if (r < 0)
		r = annotation_fail(why.message, &annotation);
	annotation.annotator = strdup(annotator->name);
	if (r < 0 || !annotation.annotator)
		return err_oom(job->err);
	annotation.event = event->id;
	annotation.time_ms = clock_wall_ms();
	count(job->report, &annotation);
	return store_annotate(job->store, &annotation, job->err);
}

static int annotate_all(const struct job *job, const struct annotator *annotator)
{
	struct unannotated_query query = {
		.annotator = annotator->name,
		.failed = job->request->again,
		.run = job->request->run,
		.since_ms = job->request->since_ms,
		.among = job->request->eager_only ? EAGER_AMONG : 0,
		.max = job->request->max,
		/* the built-in one is about runs that went wrong */
		.mishaps = !annotator->path,
	};
	struct store_event *events = NULL;
	size_t len = 0;
	int r = store_unannotated(job->store, &query, &events, &len, job->err);

	for (size_t i = 0; i < len && r == 0; i++) {
		if (job->deadline_ns && clock_mono_ns() > job->deadline_ns) {
			job->report->cut = true;
			break;
		}
		if (annotator_wants(annotator, events[i].kind))
			r = annotate(job, annotator, &events[i]);
	}
	store_events_free(events, len);
	return r;
}

int annotate_events(const struct context *context, struct store *store,
		    const struct annotate_request *request, struct annotate_report *ret,
		    struct err *err)
{
	_cleanup_(annotators_release) struct annotators annotators = {0};
	_cleanup_(annotate_report_release) struct annotate_report report = {0};
	struct job job = {.context = context,
			  .store = store,
			  .request = request,
			  .report = &report,
			  .err = err};
	int r = annotators_find(&context->user, &context->workspace, &context->config, &annotators,
				err);

	if (request->budget_ms)
		job.deadline_ns = clock_mono_ns() + request->budget_ms * UINT64_C(1000000);
	for (size_t i = 0; i < annotators.len && r == 0 && !report.cut; i++)
		if (annotators.items[i].eager || !request->eager_only)
			r = annotate_all(&job, &annotators.items[i]);
	if (r < 0)
		return r;
	report.refused = annotators.refused;
	annotators.refused = (struct strv){0};
	*ret = report;
	report = (struct annotate_report){0};
	return 0;
}

void annotate_report_release(struct annotate_report *report)
{
	strv_release(&report->refused);
	*report = (struct annotate_report){0};
}
