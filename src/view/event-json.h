/* SPDX-License-Identifier: MIT */
/* event-json - events of the store as JSON, for users and for annotators. */
#pragma once
#include <stddef.h>

struct annotation;
struct json;
struct store_event;

/* The members, into an open object. */
void event_members(const struct store_event *event, struct json *json);
/* "annotations":[…] */
void annotations_json(const struct annotation *annotations, size_t len, struct json *json);
