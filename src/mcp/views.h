/* SPDX-License-Identifier: MIT */
/* views - answers of verbs as text for a model, and in the shape that tools promise. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct str;
struct tool;

/* Is it ERROR's code, as verbs print it? */
bool error_is(json_t *error, enum err_code code);
/* All append, and return 0 or -ENOMEM. */
/* HEAD as it is, TEXT so that it stays in its line. */
int view_line(const char *head, const char *text, struct str *out);
/* HEAD and the message of ERROR, in one line but for the list of what needs trust, which is ours. */
int view_message(const char *head, json_t *error, struct str *out);
/* DATA between two lines with a mark that nobody could know before: it is not the one who speaks. */
int view_marked(const char *what, const char *data, struct str *out);
/* JSON that holds texts of the project. */
int view_data(const char *structured, struct str *out);
/* What a command printed, without DROPPED bytes of its beginning. */
int view_output(const char *output, uint64_t dropped, struct str *out);
/* IS_CUT: there is more of it. */
int view_patch(const char *patch, bool is_cut, struct str *out);
/* What a file tool found or did. */
int view_file(const struct tool *tool, json_t *data, struct str *out);
/* How a run ended, what was refused and what would allow it. */
int view_run(json_t *answer, struct str *out);
/* sandbox_info, from `sandbox inspect` or `status`. */
int view_info(json_t *data, struct str *out);
/* Text for DATA; STRUCTURED, which says the same, where there is nothing better. */
int view_text(const struct tool *tool, json_t *data, const char *structured, struct str *out);
