/* SPDX-License-Identifier: MIT */
/* check-report - what became of the commands of `pale check`: as a row, as JSON, as JUnit XML. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct check;
struct str;

/* "ok", "running", "cancelled", … */
const char *task_word(const struct check *check, size_t task);
/* The escape sequence that this state is shown in. */
const char *task_colour(const struct check *check, size_t task);
/* Of the longest name, for rows of equal shape. */
unsigned check_name_width(const struct check *check);
/* Name, time, memory, and what there is to say; without the state. One line without its end. */
int check_row(const struct check *check, size_t task, unsigned name_width, uint64_t now_ns,
	      struct str *out);
/* Did it fail, so that its output is wanted? */
bool task_failed(const struct check *check, size_t task);
/* "5 commands: 3 ok, 2 failed; 1.20 s" */
int check_summary(const struct check *check, uint64_t duration_ms, struct str *out);

int check_json(const struct check *check, uint64_t duration_ms, int status, struct str *out);
int check_junit(const struct check *check, uint64_t began_ms, uint64_t duration_ms,
		struct str *out);
