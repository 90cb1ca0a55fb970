/* SPDX-License-Identifier: MIT */
/* What happened in a run, out of pale's answer: kinds, dimensions and counts, no names. */
#include <stdlib.h>
#include <string.h>

#include "api/pale-impl.h"
#include "base/cleanup.h"
#include "base/json-read.h"

struct incidents {
	struct pale_event *items;
	size_t len;
};

static enum pale_dimension dimension_of(struct json_slice name)
{
	for (int dim = 0; dim < DIM_COUNT_; dim++)
		if (json_is_text(name, dim_name((enum dim)dim)))
			return (enum pale_dimension)(dim + 1);
	return PALE_DIM_NONE;
}

/* One for each kind and dimension; the same again is counted. */
static void add(struct incidents *incidents, enum pale_event_kind kind,
		enum pale_dimension dimension, enum pale_severity severity, uint64_t count)
{
	struct pale_event *at = NULL;

	for (size_t i = 0; i < incidents->len && !at; i++)
		if (incidents->items[i].kind == kind && incidents->items[i].dimension == dimension)
			at = &incidents->items[i];
	if (!at && incidents->len == INCIDENTS_MAX)
		return;
	if (!at) {
		at = &incidents->items[incidents->len++];
		*at = (struct pale_event){.kind = (uint32_t)kind,
					  .dimension = (uint16_t)dimension,
					  .severity = (uint16_t)severity};
	}
	at->count = count < UINT32_MAX - at->count ? at->count + (uint32_t)count : UINT32_MAX;
}

/* "enforced":{"memory":{"state":"degraded",…},…} */
static void read_degraded(struct json_slice root, struct incidents *incidents)
{
	struct json_slice enforced, name, value, state;
	size_t cursor = 0;

	if (!json_get(root, "enforced", &enforced))
		return;
	while (json_next(enforced, &cursor, &name, &value))
		if (json_get(value, "state", &state) && !json_is_text(state, "enforced") &&
		    dimension_of(name) != PALE_DIM_NONE)
			add(incidents, PALE_EVENT_DEGRADED, dimension_of(name), PALE_NOTICE, 1);
}

/* Lists of objects that name a dimension; those without a count count as one. */
static void read_list(struct json_slice root, const char *key, enum pale_event_kind kind,
		      enum pale_severity severity, struct incidents *incidents)
{
	struct json_slice list, item, value, dimension;
	size_t cursor = 0;

	if (!json_get(root, key, &list))
		return;
	while (json_next_item(list, &cursor, &item)) {
		uint64_t count = 1;

		if (!json_get(item, "dimension", &dimension))
			continue;
		if (json_get(item, "count", &value))
			(void)json_get_uint(value, &count);
		add(incidents, kind, dimension_of(dimension), severity, count);
	}
}

static void read_limit(struct json_slice root, struct incidents *incidents)
{
	struct json_slice outcome, limit;

	if (!json_get(root, "outcome", &outcome))
		return;
	if (json_get(root, "limit", &limit) && !json_is_null(limit))
		add(incidents, PALE_EVENT_LIMIT, dimension_of(limit), PALE_WARNING, 1);
	else if (json_is_text(outcome, "timeout"))
		add(incidents, PALE_EVENT_LIMIT, PALE_DIM_TIMEOUT, PALE_WARNING, 1);
	else if (json_is_text(outcome, "oom"))
		add(incidents, PALE_EVENT_LIMIT, PALE_DIM_MEMORY, PALE_WARNING, 1);
}

static void read_stage(struct json_slice root, struct incidents *incidents)
{
	struct json_slice stage, value;
	uint64_t changes = 0;

	if (json_get(root, "stage", &stage) && json_get(stage, "changes", &value) &&
	    json_get_uint(value, &changes) && changes > 0)
		add(incidents, PALE_EVENT_STAGED, PALE_DIM_FILESYSTEM, PALE_NOTICE, changes);
}

size_t incidents_read(const char *json, struct pale_event *ret)
{
	struct incidents incidents = {.items = ret};
	struct json_slice root;

	if (!json_slice_init(&root, json, strlen(json)))
		return 0;
	read_degraded(root, &incidents);
	read_list(root, "violations", PALE_EVENT_DENIED, PALE_WARNING, &incidents);
	read_limit(root, &incidents);
	read_list(root, "events", PALE_EVENT_TAMPER, PALE_CRITICAL, &incidents);
	read_stage(root, &incidents);
	return incidents.len;
}
