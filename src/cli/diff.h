/* SPDX-License-Identifier: MIT */
/* diff - the forms in which `pale diff` shows what is staged. */
#pragma once
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/stage-verb.h"

struct diff_job {
	const struct staged *staged;
	const struct entries *entries;
	bool is_chosen; /* paths were named: nothing of them is summed up or left out */
	struct output out;
	struct progress progress;
	bool is_partial; /* something could not be read; it was said */
};

/* Each writes all entries to job->out. -ECANCELED: stopped; -EPIPE: the reader has
 * gone. */
int diff_patch(struct diff_job *job, struct err *err);
int diff_stat(struct diff_job *job, struct err *err);
int diff_name_status(struct diff_job *job, struct err *err);
int diff_json(struct diff_job *job, struct err *err);
int diff_conflict(struct diff_job *job, const struct entry *entry, struct err *err);

/* "# …" lines over a file, for a terminal. */
int put_marks(struct str *out, const struct staged *staged, const struct entry *entry, bool colour);
/* "MODE 0600 -> 0666": what no patch says; of a new one when others can write to it. */
int put_mode(struct str *out, const struct entry *entry, bool is_next);
/* What no patch can show, in words: "folder added", "mode 0644 -> 0600". */
int put_change_text(struct str *out, const struct entry *entry);
/* sides_load(); 1: it has changed meanwhile, was reported, and is passed over. */
int diff_load(struct diff_job *job, const struct entry *entry, struct sides *ret, struct err *err);
/* Files of git's own are one line, not hundreds. */
bool diff_sums_up(const struct diff_job *job, const struct entry *entry);
/* A name, and when it is no UTF-8 a second time as KEY_base64. */
void json_add_name(struct json *json, const char *key, const char *name);
