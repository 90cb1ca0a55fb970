/* SPDX-License-Identifier: MIT */
/*
 * annotators - programs of the user's that say more about events.
 *
 * Executables in the folder `annotators` beside the user's pale.toml. They run outside
 * of every boundary, as the user: one is taken only if nobody but the user and root
 * can have put it there, and never out of a workspace.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct config;
struct err;
struct user;
struct workspace;

#define ANNOTATORS_DIR       "annotators"
#define ANNOTATORS_MAX       64
#define ANNOTATOR_ANSWER_MAX (64 * 1024)
#define ANNOTATOR_TIMEOUT_MS 5000
#define ANNOTATOR_SOURCE     "source_context" /* the built-in one */

struct annotator {
	char *name;
	char *path; /* absolute, without links; NULL: built in */
	bool eager;
	unsigned timeout_ms;
	struct strv kinds; /* empty: all */
};

struct annotators {
	struct annotator *items; /* by name */
	size_t len;
	struct strv refused; /* "NAME: why", of files that are not taken */
};

/* Those that there are, the built-in one with them. No folder is no failure. */
int annotators_find(const struct user *user, const struct workspace *workspace,
		    const struct config *config, struct annotators *ret, struct err *err);
void annotators_release(struct annotators *annotators);
bool annotator_wants(const struct annotator *annotator, const char *kind);

/* Let it read EVENT (JSON) and answer. -ETIMEDOUT; -EFBIG: past ANNOTATOR_ANSWER_MAX;
 * -EPROTO: it failed. Whatever it started is ended with it. */
int annotator_ask(const struct annotator *annotator, const struct user *user, const char *event,
		  struct str *ret_answer, struct err *err);
