/* SPDX-License-Identifier: MIT */
/*
 * lines - records on disk: one line each, fields between spaces, a checksum first.
 *
 * Any bytes can be in a field. A line that is torn or damaged is known as such.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/str.h"

struct node;

/* A line that is being written: fields first, then line_end(). Errors are kept
 * until then. */
struct line {
	struct str text;
	int error;
};

void line_text(struct line *line, const char *text); /* NULL is "" */
void line_number(struct line *line, uint64_t number);
void line_time(struct line *line, struct timespec time);
void line_node(struct line *line, const struct node *node);
int line_end(struct line *line, struct str *out); /* releases LINE, also on failure */

/* A line that is being read. */
struct fields {
	char *text; /* owned; what fields borrow */
	char *next; /* NULL: there is no further one */
	bool is_bad;
};

/* The line at *AT, which is moved behind it. 1: read; 0: there is no further line;
 * -EBADMSG: it is damaged (*AT is behind it); -ENOMEM. */
int fields_read(const char **at, const char *end, struct fields *ret);
void fields_release(struct fields *fields);
/* Past the end or malformed: "" or 0, and is_bad. */
const char *fields_text(struct fields *fields);
uint64_t fields_number(struct fields *fields, uint64_t max);
struct timespec fields_time(struct fields *fields);
int fields_node(struct fields *fields, struct node *ret); /* -EBADMSG, -ENOMEM */
