/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/pale-impl.h"
#include "base/err.h"

static int add(struct pale_context *context, const struct annotator_fn *annotator, struct err *err)
{
	for (size_t i = 0; i < context->annotators_len; i++)
		if (str_eq(context->annotators[i].name, annotator->name))
			return err_set(err, ERR_USAGE, -EEXIST, "there is an annotator '%s'",
				       annotator->name);
	if (context->annotators_len == ANNOTATOR_FNS_MAX)
		return err_set(err, ERR_USAGE, -ENOSPC, "there are %d annotators",
			       ANNOTATOR_FNS_MAX);
	if (!context->annotations)
		context->annotations = calloc(PALE_EVENTS_MAX, sizeof(*context->annotations));
	if (!context->annotations)
		return err_oom(err);
	context->annotators[context->annotators_len++] = *annotator;
	return 0;
}

int pale_annotator_add(struct pale_context *context, const char *name, pale_annotator_fn *fn,
		       void *data, struct pale_error *error)
{
	struct annotator_fn annotator = {.fn = fn, .data = data};
	struct err err = {0};
	int r = 0;

	if (!name || !*name || strlen(name) >= sizeof(annotator.name) || !fn)
		r = err_set(&err, ERR_USAGE, -EINVAL, "an annotator has a name of 1 to 31 bytes");
	if (r == 0) {
		snprintf(annotator.name, sizeof(annotator.name), "%s", name);
		pthread_mutex_lock(&context->lock);
		r = add(context, &annotator, &err);
		pthread_mutex_unlock(&context->lock);
	}
	return r < 0 ? give_error(error, &err, r) : 0;
}

static void keep(struct pale_context *context, const struct pale_annotation *annotation)
{
	pthread_mutex_lock(&context->lock);
	context->annotations[context->annotations_len++ % PALE_EVENTS_MAX] = *annotation;
	pthread_mutex_unlock(&context->lock);
}

void context_annotate(struct pale_context *context, const struct pale_event *event,
		      const char *json)
{
	struct annotator_fn annotators[ANNOTATOR_FNS_MAX];
	size_t len;

	pthread_mutex_lock(&context->lock);
	len = context->annotators_len;
	memcpy(annotators, context->annotators, len * sizeof(annotators[0]));
	pthread_mutex_unlock(&context->lock);
	for (size_t i = 0; i < len; i++) {
		struct pale_annotation annotation = {0};

		if (annotators[i].fn(event, json, &annotation, annotators[i].data) != 1)
			continue;
		annotation.event = event->number;
		memcpy(annotation.annotator, annotators[i].name, sizeof(annotation.annotator));
		annotation.type[sizeof(annotation.type) - 1] = '\0';
		annotation.data[sizeof(annotation.data) - 1] = '\0';
		if (annotation.display > PALE_HIDDEN)
			annotation.display = PALE_HIDDEN;
		keep(context, &annotation);
	}
}

size_t pale_annotations(struct pale_context *context, uint64_t number,
			struct pale_annotation *ret_annotations, size_t len)
{
	size_t n = 0;

	pthread_mutex_lock(&context->lock);
	for (uint64_t i = context->annotations_len > PALE_EVENTS_MAX
				  ? context->annotations_len - PALE_EVENTS_MAX
				  : 0;
	     i < context->annotations_len && n < len; i++)
		if (context->annotations[i % PALE_EVENTS_MAX].event == number)
			ret_annotations[n++] = context->annotations[i % PALE_EVENTS_MAX];
	pthread_mutex_unlock(&context->lock);
	return n;
}
