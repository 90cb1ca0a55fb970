/* SPDX-License-Identifier: MIT */
/* annotate - what annotators said of events, in the store. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

struct strv;

/* A failure is one, too: type "error", hidden. */
struct annotation {
	int64_t event;
	char *annotator;
	char *type;
	char *display; /* "inline", "detail", "hidden" */
	char *data;    /* JSON; NULL: none */
	uint64_t time_ms;
};

void annotation_release(struct annotation *annotation);
void annotations_free(struct annotation *annotations, size_t len);

/* What an annotator answered: {"type", "display", "data"}; nothing at all: type "none",
 * hidden. -EINVAL: it is something else, and err says what. */
int annotation_parse(const char *text, size_t len, struct annotation *ret, struct err *err);
/* One of WHY, for a failure. 0 or -ENOMEM. */
int annotation_fail(const char *why, struct annotation *ret);

/* Replaces what ANNOTATION->annotator said before of that event. */
int store_annotate(struct store *store, const struct annotation *annotation, struct err *err);
/* Of one event, by the names of annotators. */
int store_annotations(struct store *store, int64_t event, struct annotation **ret, size_t *ret_len,
		      struct err *err);

struct unannotated_query {
	const char *annotator; /* that has said nothing yet */
	bool failed;           /* or has failed */
	bool mishaps;          /* only exits of runs that were executed and went wrong */
	const char *run;       /* NULL: any */
	uint64_t since_ms;
	size_t max; /* the newest so many; 0: all */
};
/* Oldest first; store_events_free(). */
int store_unannotated(struct store *store, const struct unannotated_query *query,
		      struct store_event **ret, size_t *ret_len, struct err *err);
