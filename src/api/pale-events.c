/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/pale-impl.h"
#include "api/prefix.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

int pale_context_new(const char *program, struct pale_context **ret_context,
		     struct pale_error *error)
{
	struct pale_context *context;
	struct err err = {0};

	if (!program)
		program = PALE_PREFIX "/bin/pale";
	if (program[0] != '/')
		return give_error(error, &err,
				  err_set(&err, ERR_USAGE, -EINVAL,
					  "the path of pale must be absolute, not \"%s\"",
					  program));
	context = calloc(1, sizeof(*context));
	if (context)
		context->program = strdup(program);
	if (!context || !context->program) {
		free(context);
		return give_error(error, &err, err_oom(&err));
	}
	context->refs = 1;
	pthread_mutex_init(&context->lock, NULL);
	*ret_context = context;
	return 0;
}

struct pale_context *context_ref(struct pale_context *context)
{
	__atomic_fetch_add(&context->refs, 1, __ATOMIC_RELAXED);
	return context;
}

void pale_context_free(struct pale_context *context)
{
	if (!context || __atomic_sub_fetch(&context->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	pthread_mutex_destroy(&context->lock);
	free(context->annotations);
	free(context->program);
	free(context);
}

void context_record(struct pale_context *context, struct pale_event event, const char *json)
{
	pthread_mutex_lock(&context->lock);
	event.number = ++context->events_len;
	event.time_ms = clock_wall_ms();
	context->events[(event.number - 1) % PALE_EVENTS_MAX] = event;
	pthread_mutex_unlock(&context->lock);
	context_annotate(context, &event, json);
}

uint64_t context_begin(struct pale_context *context, uint64_t workspace)
{
	uint64_t run;

	pthread_mutex_lock(&context->lock);
	run = ++context->runs_len;
	pthread_mutex_unlock(&context->lock);
	context_record(context,
		       (struct pale_event){.run = run,
					   .workspace = workspace,
					   .duration_ms = PALE_UNKNOWN,
					   .kind = PALE_EVENT_START,
					   .outcome = PALE_RUNNING,
					   .count = 1},
		       "");
	return run;
}

static enum pale_severity exit_severity(uint32_t outcome)
{
	if (outcome == PALE_OK)
		return PALE_INFO;
	return outcome == PALE_REFUSED || outcome == PALE_ERROR ? PALE_SEVERE : PALE_WARNING;
}

void context_end(struct pale_context *context, struct pale_event exit, const char *json)
{
	struct pale_event incidents[INCIDENTS_MAX];
	size_t len = incidents_read(json, incidents);

	for (size_t i = 0; i < len; i++) {
		incidents[i].run = exit.run;
		incidents[i].workspace = exit.workspace;
		incidents[i].duration_ms = PALE_UNKNOWN;
		incidents[i].outcome = exit.outcome;
		context_record(context, incidents[i], json);
	}
	exit.kind = PALE_EVENT_EXIT;
	exit.severity = (uint16_t)exit_severity(exit.outcome);
	exit.count = 1;
	context_record(context, exit, json);
}

const char *pale_event_name(enum pale_event_kind kind)
{
	static const char *const names[] = {
		[PALE_EVENT_START] = "sandbox.start",
		[PALE_EVENT_EXIT] = "sandbox.exit",
		[PALE_EVENT_DENIED] = "sandbox.denied",
		[PALE_EVENT_LIMIT] = "sandbox.limit",
		[PALE_EVENT_DEGRADED] = "sandbox.degraded",
		[PALE_EVENT_TAMPER] = "sandbox.tamper",
		[PALE_EVENT_STAGED] = "stage.changes",
		[PALE_EVENT_APPLY_REFUSED] = "apply.refused",
	};

	return (size_t)kind < array_len(names) ? names[kind] : "unknown";
}

const char *pale_dimension_name(enum pale_dimension dimension)
{
	return (unsigned)dimension - 1 < DIM_COUNT_ ? dim_name((enum dim)(dimension - 1)) : "";
}

size_t pale_events(struct pale_context *context, uint64_t after, struct pale_event *ret_events,
		   size_t len)
{
	size_t n = 0;

	pthread_mutex_lock(&context->lock);
	if (context->events_len > PALE_EVENTS_MAX && after < context->events_len - PALE_EVENTS_MAX)
		after = context->events_len - PALE_EVENTS_MAX;
	while (n < len && after < context->events_len)
		ret_events[n++] = context->events[after++ % PALE_EVENTS_MAX];
	pthread_mutex_unlock(&context->lock);
	return n;
}
