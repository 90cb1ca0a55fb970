/* SPDX-License-Identifier: MIT */
#include "result/event.h"

#include <jansson.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "tap.h"

static json_t *as_json(const struct events *events)
{
	_cleanup_(str_release) struct str text = {0};
	struct json json = {.out = &text};

	json_begin_object(&json, NULL);
	events_json(events, &json);
	json_end_object(&json);
	if (json_finish(&json) < 0)
		return NULL;
	return json_loads(str_text(&text), JSON_REJECT_DUPLICATES, NULL);
}

static bool has_text(const json_t *event, const char *key, const char *want)
{
	return str_eq(json_string_value(json_object_get(event, key)), want);
}

static void test_json(void)
{
	_cleanup_(events_release) struct events events = {0};
	json_t *root = as_json(&events), *first;

	tap_ok(json_array_size(json_object_get(root, "events")) == 0 &&
		       json_is_array(json_object_get(root, "events")),
	       "no events are an empty list");
	json_decref(root);
	tap_ok(events_add_tamper(&events, "/w/.envrc", TAMPER_QUARANTINED, "/s/1-.envrc", NULL,
				 7) == 0 &&
		       events_add_tamper(&events, "/w/a", TAMPER_ENDED, NULL, "why", 0) == 0,
	       "events are added");
	root = as_json(&events);
	first = json_array_get(json_object_get(root, "events"), 0);
	tap_ok(has_text(first, "kind", "tamper") && has_text(first, "dimension", "filesystem") &&
		       has_text(first, "path", "/w/.envrc") &&
		       has_text(first, "action", "quarantined") &&
		       has_text(first, "where", "/s/1-.envrc") &&
		       json_is_null(json_object_get(first, "reason")) &&
		       json_integer_value(json_object_get(first, "window_us")) == 7,
	       "and told");
	json_decref(root);
}

static void test_bound(void)
{
	_cleanup_(events_release) struct events events = {0};
	int r = 0;

	for (int i = 0; i < EVENTS_MAX + 5 && r == 0; i++)
		r = events_add_tamper(&events, "/x", TAMPER_GONE, NULL, NULL, 0);
	tap_ok(r == 0 && events.len == EVENTS_MAX && events.dropped == 5,
	       "their number is bounded");
	tap_ok(events_add_tamper(&events, "/x", TAMPER_ENDED, NULL, "why", 0) == 0 &&
		       events.items[events.len - 1].action == TAMPER_ENDED,
	       "but why a run was ended is always told");
}

int main(void)
{
	test_json();
	test_bound();
	return tap_done();
}
