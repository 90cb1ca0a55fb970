/* SPDX-License-Identifier: MIT */
/*
 * verbs - every verb of the command line, declared once.
 *
 * Feeds dispatch, help, completions and the test that holds them and the
 * manual together. A verb with sub-verbs ("commands register") has a row for
 * each, its name holding the blank.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/opt.h"

enum verb_group { GROUP_RUN, GROUP_REVIEW, GROUP_POLICY, GROUP_SESSIONS, GROUP_HISTORY, GROUP_SETUP, GROUP_COUNT_ };

struct verb {
	const char *name;
	enum verb_group group;
	const char *operands; /* "NAME [ARGS…]" for the usage line, or "" */
	const char *summary;  /* one line, no full stop */
	const char *details;  /* paragraphs for --help, may be NULL */
	const char *examples; /* "pale …" lines, may be NULL */
	struct opt_table (*options)(void);
	bool on_run_path;     /* lives in `pale` itself */
};

extern const struct verb verbs[];
extern const size_t verbs_len;

/* The verb that ARGV begins with, longest name first; *ret_words is how many
 * words its name took. NULL: none. */
const struct verb *verb_find(int argc, char **argv, int *ret_words);
const char *verb_group_title(enum verb_group group);
