/* SPDX-License-Identifier: MIT */
/* views - answers of verbs as text for a model, and in the shape that tools promise. */
#pragma once
#include <jansson.h>

struct str;
struct tool;

/* All append, and return 0 or -ENOMEM. */
/* How a run ended, what was refused and what would allow it. */
int view_run(json_t *answer, struct str *out);
/* sandbox_info, from `sandbox inspect` or `status`. */
int view_info(json_t *data, struct str *out);
/* Text for DATA; STRUCTURED, which says the same, where there is nothing better. */
int view_text(const struct tool *tool, json_t *data, const char *structured, struct str *out);
