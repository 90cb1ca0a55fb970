/* SPDX-License-Identifier: MIT */
#include "view/event-json.h"

#include "base/json.h"
#include "store/annotate.h"
#include "store/store.h"

void event_members(const struct store_event *event, struct json *json)
{
	json_add_int(json, "id", event->id);
	json_add_string(json, "run", event->run);
	json_add_uint(json, "time_ms", event->time_ms);
	json_add_string(json, "kind", event->kind);
	json_add_string(json, "severity", event->severity);
	json_add_string(json, "dimension", event->dimension);
	json_add_string(json, "code", event->code);
	json_add_raw(json, "data", event->data);
}

void annotations_json(const struct annotation *annotations, size_t len, struct json *json)
{
	json_begin_array(json, "annotations");
	for (size_t i = 0; i < len; i++) {
		json_begin_object(json, NULL);
		json_add_string(json, "annotator", annotations[i].annotator);
		json_add_string(json, "type", annotations[i].type);
		json_add_string(json, "display", annotations[i].display);
		json_add_raw(json, "data", annotations[i].data);
		json_add_uint(json, "time_ms", annotations[i].time_ms);
		json_end_object(json);
	}
	json_end_array(json);
}
