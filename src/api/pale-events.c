/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/pale-impl.h"
#include "api/prefix.h"
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
	free(context->program);
	free(context);
}

/* Under the lock. */
static void record(struct pale_context *context, struct pale_event event)
{
	event.number = ++context->events_len;
	event.time_ms = clock_wall_ms();
	context->events[(event.number - 1) % PALE_EVENTS_MAX] = event;
}

uint64_t context_begin(struct pale_context *context, uint64_t workspace)
{
	uint64_t run;

	pthread_mutex_lock(&context->lock);
	run = ++context->runs_len;
	record(context, (struct pale_event){.run = run,
					    .workspace = workspace,
					    .duration_ms = PALE_UNKNOWN,
					    .kind = PALE_EVENT_START,
					    .outcome = PALE_RUNNING});
	pthread_mutex_unlock(&context->lock);
	return run;
}

void context_end(struct pale_context *context, uint64_t run, uint64_t workspace,
		 enum pale_outcome outcome, uint64_t duration_ms)
{
	pthread_mutex_lock(&context->lock);
	record(context, (struct pale_event){.run = run,
					    .workspace = workspace,
					    .duration_ms = duration_ms,
					    .kind = PALE_EVENT_EXIT,
					    .outcome = outcome});
	pthread_mutex_unlock(&context->lock);
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
