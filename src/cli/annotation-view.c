/* SPDX-License-Identifier: MIT */
/* What annotators said, for people. It may come from anywhere: all of it is escaped. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/history-verb.h"
#include "store/annotate.h"
#include "store/annotators.h"

static int put_escaped(struct str *out, const char *text)
{
	return text ? str_append_escaped(out, text, strlen(text)) : 0;
}

/* A tab is no threat, and source is full of them. */
static int put_source_text(struct str *out, const char *text)
{
	int r = 0;

	while (r == 0 && text && *text) {
		size_t len = strcspn(text, "\t");

		r = str_append_escaped(out, text, len);
		if (r == 0 && text[len])
			r = str_append(out, "    ");
		text += len + (text[len] == '\t');
	}
	return r;
}

static int put_line(const json_t *line, json_int_t here, struct str *out)
{
	json_int_t number = json_integer_value(json_object_get(line, "line"));
	int r = str_appendf(out, "    %c %5" JSON_INTEGER_FORMAT " | ", number == here ? '>' : ' ',
			    number);

	if (r == 0)
		r = put_source_text(out, json_string_value(json_object_get(line, "text")));
	return r < 0 ? r : str_append_char(out, '\n');
}

/* src/a.c:4:20, in helper */
static int put_place(const json_t *place, struct str *out)
{
	json_int_t line = json_integer_value(json_object_get(place, "line"));
	json_int_t column = json_integer_value(json_object_get(place, "column"));
	const char *function = json_string_value(json_object_get(place, "function"));
	const json_t *source = json_object_get(place, "source");
	int r = str_append(out, "  ");

	if (r == 0)
		r = put_escaped(out, json_string_value(json_object_get(place, "path")));
	if (r == 0)
		r = str_appendf(out, ":%" JSON_INTEGER_FORMAT, line);
	if (r == 0 && column > 0)
		r = str_appendf(out, ":%" JSON_INTEGER_FORMAT, column);
	if (r == 0 && function)
		r = str_append(out, ", in ");
	if (r == 0)
		r = put_escaped(out, function);
	if (r == 0)
		r = str_append_char(out, '\n');
	for (size_t i = 0; i < json_array_size(source) && r == 0; i++)
		r = put_line(json_array_get(source, i), line, out);
	return r;
}

static int put_source(const json_t *data, struct str *out)
{
	const json_t *places = json_object_get(data, "places");
	int r = str_append(out, "the output points at\n");

	for (size_t i = 0; i < json_array_size(places) && r == 0; i++)
		r = put_place(json_array_get(places, i), out);
	return r;
}

static int put_one(const struct annotation *annotation, struct str *out)
{
	json_t *data = annotation->data ? json_loads(annotation->data, JSON_DECODE_ANY, NULL)
					: NULL;
	int r;

	if (data && str_eq(annotation->annotator, ANNOTATOR_SOURCE)) {
		r = put_source(data, out);
	} else {
		r = put_escaped(out, annotation->annotator);
		if (r == 0)
			r = str_append(out, ": ");
		if (r == 0)
			r = put_escaped(out, annotation->type);
		if (r == 0 && annotation->data)
			r = str_append_char(out, ' ');
		if (r == 0)
			r = put_escaped(out, json_is_string(data) ? json_string_value(data)
								  : annotation->data);
		if (r == 0)
			r = str_append_char(out, '\n');
	}
	json_decref(data);
	return r;
}

int put_annotations(struct store *store, const struct store_event *event, bool details,
		    struct str *out)
{
	struct annotation *annotations = NULL;
	size_t len = 0;
	int r = store_annotations(store, event->id, &annotations, &len, NULL);

	for (size_t i = 0; i < len && r == 0; i++) {
		bool shown = str_eq(annotations[i].display, "inline") ||
			     (details && str_eq(annotations[i].display, "detail"));

		if (shown && !details)
			r = str_appendf(out, "%s %" PRId64 ": ", event->kind, event->id);
		if (shown && r == 0)
			r = put_one(&annotations[i], out);
	}
	annotations_free(annotations, len);
	return r;
}
