/* SPDX-License-Identifier: MIT */
/* review-screen - what `pale review` looks like. */
#pragma once
#include "cli/screen.h"
#include "review/review.h"

struct review_view {
	struct rows rows; /* of the part that is shown */
	size_t at, part;  /* which that is */
	size_t n_parts;   /* … of as many: a split makes other ones */
	unsigned width;   /* for which they were wrapped */
	bool is_made;
	size_t top;          /* the first row in sight */
	size_t page;         /* rows in sight */
	const char *message; /* until the next key; NULL: none */
};

void review_view_release(struct review_view *view);
/* Draw the part where REVIEW is. -ENOMEM. */
int review_draw(struct screen *screen, const struct review *review, struct review_view *view);
void review_scroll(struct review_view *view, long rows);
void review_draw_help(struct screen *screen);
/* The question at the end. */
void review_draw_end(struct screen *screen, const struct review *review);
