/* SPDX-License-Identifier: MIT */
/* review-impl - what the parts of review share. */
#pragma once
#include "review/review.h"

/* Make room for the verdicts of the item that was just read, all open, unless it has
 * them already and they are about the same content. */
int review_fit(struct review *review, struct review_item *item, struct err *err);
/* Read decisions and place of the last time. What is damaged or about something else is
 * passed over. */
int review_restore(struct review *review, struct err *err);
/* As if it had never been looked at. */
void review_forget(struct review_item *item);
