/* SPDX-License-Identifier: MIT */
/* history-verb - what runs, show and events share. */
#pragma once
#include "api/context.h"
#include "cli/common.h"
#include "store/store.h"

struct table;

struct history_verb {
	struct args args;
	struct context context;
	struct store *store; /* NULL: there is no history yet */
};

/* The arguments, the workspace and its history; what the store notes is said. 1: help
 * was printed. */
int history_verb_begin(enum verb_id id, int argc, char **argv, struct history_verb *verb,
		       struct err *err);
void history_verb_release(struct history_verb *verb);
/* Open it if it was not there before: -ENOENT, err untouched, when it still is not. */
int history_verb_open(struct history_verb *verb, struct err *err);

/* The time that --since or --older-than means; 0 when it was not given. */
int history_time(const char *option, const char *value, uint64_t *ret_ms, struct err *err);
int history_number(const char *value, size_t otherwise, size_t *ret, struct err *err);

/* "2026-11-16 07:38:41", local. */
#define TIME_TEXT_MAX 32
const char *time_format(uint64_t ms, char buf[TIME_TEXT_MAX]);
/* As wide as the terminal, if standard output is one. */
void table_fit(struct table *table);

/* run-view.c */
void run_record_json(const struct run_record *record, struct json *json);
/* The same without the braces. */
void run_record_members(const struct run_record *record, struct json *json);
/* cmd-events.c: one event, with what annotators said of it. */
void event_json(struct store *store, const struct store_event *event, struct json *json);
/* annotation-view.c: what annotators said of it in line, and DETAILS. */
int put_annotations(struct store *store, const struct store_event *event, bool details,
		    struct str *out);
/* cmd-annotate.c: let the eager annotators look at what is new. */
void history_annotate(const struct context *context, struct store *store);
/* What it is called: the command, else the program. */
const char *run_record_name(const struct run_record *record);
