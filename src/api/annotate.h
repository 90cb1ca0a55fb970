/* SPDX-License-Identifier: MIT */
/* annotate - let annotators look at the events of the store. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct context;
struct err;
struct store;

struct annotate_request {
	bool eager_only;
	bool again;         /* also where an annotator failed before */
	const char *run;    /* a whole id; NULL: of all */
	uint64_t since_ms;  /* 0: ever */
	size_t max;         /* the newest so many for each annotator; 0: all */
	unsigned budget_ms; /* for all of them together; 0: none */
};

struct annotate_report {
	uint64_t annotated, silent, failed;
	bool cut;            /* the budget was spent before the end */
	struct strv refused; /* "NAME: why", of files that are no annotators */
};

/* What goes wrong with an annotator is stored as its annotation; a failure here is one
 * of the store. */
int annotate_events(const struct context *context, struct store *store,
		    const struct annotate_request *request, struct annotate_report *ret,
		    struct err *err);
void annotate_report_release(struct annotate_report *report);
