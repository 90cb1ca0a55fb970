/* SPDX-License-Identifier: MIT */
#include "result/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static const char *const action_names[] = {
	[TAMPER_QUARANTINED] = "quarantined",
	[TAMPER_RESTORED] = "restored",
	[TAMPER_REBOUND] = "re-bound",
	[TAMPER_GONE] = "gone",
	[TAMPER_ENDED] = "ended",
};

const char *tamper_action_name(enum tamper_action action)
{
	return action_names[action];
}

static void release(struct event *event)
{
	free(event->path);
	free(event->where);
	free(event->reason);
}

int events_add_tamper(struct events *events, const char *path, enum tamper_action action,
		      const char *where, const char *reason, uint64_t window_us)
{
	struct event event = {.kind = "tamper",
			      .dimension = "filesystem",
			      .action = action,
			      .window_us = window_us};
	struct event *grown;

	if (events->len == EVENTS_MAX && action != TAMPER_ENDED) {
		events->dropped++;
		return 0;
	}
	event.path = strdup(path);
	event.where = where ? strdup(where) : NULL;
	event.reason = reason ? strdup(reason) : NULL;
	grown = reallocarray(events->items, events->len + 1, sizeof(event));
	if (grown)
		events->items = grown;
	if (!grown || !event.path || (where && !event.where) || (reason && !event.reason)) {
		release(&event);
		return -ENOMEM;
	}
	grown[events->len++] = event;
	return 0;
}

void events_append(struct events *events, const struct events *from)
{
	for (size_t i = 0; i < from->len; i++) {
		const struct event *e = &from->items[i];

		(void)events_add_tamper(events, e->path, e->action, e->where, e->reason,
					e->window_us);
	}
	events->dropped += from->dropped;
}

void events_release(struct events *events)
{
	for (size_t i = 0; i < events->len; i++)
		release(&events->items[i]);
	free(events->items);
	*events = (struct events){0};
}

void events_json(const struct events *events, struct json *json)
{
	json_begin_array(json, "events");
	for (size_t i = 0; i < events->len; i++) {
		const struct event *event = &events->items[i];

		json_begin_object(json, NULL);
		json_add_string(json, "kind", event->kind);
		json_add_string(json, "dimension", event->dimension);
		json_add_string(json, "path", event->path);
		json_add_string(json, "action", tamper_action_name(event->action));
		json_add_string(json, "where", event->where);
		json_add_string(json, "reason", event->reason);
		json_add_uint(json, "window_us", event->window_us);
		json_end_object(json);
	}
	json_end_array(json);
}
