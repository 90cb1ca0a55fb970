/* SPDX-License-Identifier: MIT */
/*
 * verbs - every verb of the command line, declared once.
 *
 * Feeds dispatch, help, completions and the test that holds them and the
 * manual together. A verb with sub-verbs ("commands register") has a row for
 * each, its name holding the blank; the first row of such a family is what its
 * bare first word means.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/opt.h"

enum verb_group {
	GROUP_RUN,
	GROUP_REVIEW,
	GROUP_POLICY,
	GROUP_SESSIONS,
	GROUP_HISTORY,
	GROUP_SETUP,
	GROUP_COUNT_
};

/* The index in verbs[]. */
enum verb_id {
	VERB_RUN,
	VERB_SHELL,
	VERB_EXEC,
	VERB_CHECK,
	VERB_COMMANDS_LIST,
	VERB_COMMANDS_SHOW,
	VERB_COMMANDS_REGISTER,
	VERB_COMMANDS_UNREGISTER,
	VERB_DIFF,
	VERB_REVIEW,
	VERB_APPLY,
	VERB_DISCARD,
	VERB_UNDO,
	VERB_STAGES_LIST,
	VERB_STAGES_RM,
	VERB_SANDBOX_LIST,
	VERB_SANDBOX_INSPECT,
	VERB_SANDBOX_PROFILE,
	VERB_SANDBOX_SUGGEST,
	VERB_SANDBOX_TIGHTEN,
	VERB_CONFIG_SHOW,
	VERB_CONFIG_CHECK,
	VERB_CONFIG_KEYS,
	VERB_TRUST,
	VERB_ALLOW,
	VERB_SESSION_LIST,
	VERB_SESSION_START,
	VERB_SESSION_STOP,
	VERB_SESSION_RM,
	VERB_SESSION_PRUNE,
	VERB_SESSION_NETWORK,
	VERB_OUTPUT,
	VERB_SIGNAL,
	VERB_WAIT,
	VERB_FILE_READ,
	VERB_FILE_WRITE,
	VERB_FILE_EDIT,
	VERB_FILE_GREP,
	VERB_FILE_GLOB,
	VERB_RUNS_LIST,
	VERB_RUNS_PRUNE,
	VERB_SHOW,
	VERB_EVENTS_LIST,
	VERB_EVENTS_ANNOTATE,
	VERB_WHY,
	VERB_STATUS,
	VERB_DOCTOR,
	VERB_INIT,
	VERB_MCP_SERVE,
	VERB_MCP_INSTALL,
	VERB_COMPLETIONS,
	VERB_VERSION,
	VERB_HELP,
	VERB_COUNT_
};

/* What an option is, over all verbs. OPT_DIM + dim: a dimension of the spec. */
enum opt_id {
	OPT_HELP,
	OPT_JSON,
	OPT_WORKSPACE,
	OPT_PRESET,
	OPT_SETENV,
	OPT_ALLOW_DEGRADED,
	OPT_ENGINE,
	OPT_STAGED,
	OPT_DIRECT,
	OPT_STAGE,
	OPT_EXPLAIN,
	OPT_RESULT,
	OPT_SPEC,
	OPT_SPEC_FD,
	OPT_RESULT_FD,
	OPT_PROFILE_FD,
	OPT_NO_OBSERVE,
	OPT_ASK,
	OPT_NAMES,
	OPT_SANDBOX,
	OPT_DESCRIPTION,
	OPT_FORCE,
	OPT_DETECT,
	OPT_DRY_RUN,
	OPT_ORIGIN,
	OPT_SHOW,
	OPT_REVOKE,
	OPT_YES,
	OPT_STAT,
	OPT_NAME_STATUS,
	OPT_EXIT_CODE,
	OPT_CONFLICT,
	OPT_HUNK,
	OPT_INCLUDE_PROTECTED,
	OPT_TAKE_STAGED,
	OPT_ACCEPT_UNSYNCED,
	OPT_ALL,
	OPT_LIST,
	OPT_PROJECT,
	OPT_USER,
	OPT_NUMBER,
	OPT_COMMAND,
	OPT_OUTCOME,
	OPT_SINCE,
	OPT_OUTPUT,
	OPT_KIND,
	OPT_RUN,
	OPT_FOLLOW,
	OPT_OLDER_THAN,
	OPT_JOBS,
	OPT_FAIL_FAST,
	OPT_JUNIT,
	OPT_PLOT,
	OPT_SVG,
	OPT_WRITE,
	OPT_LINE,
	OPT_CLIENT,
	OPT_PRINT,
	OPT_TAKEOVER,
	OPT_SESSION,
	OPT_BACKGROUND,
	OPT_CWD,
	OPT_IDLE,
	OPT_LIFELINE_FD,
	OPT_DENY,
	OPT_ALLOW,
	OPT_FROM,
	OPT_OFFSET,
	OPT_LIMIT,
	OPT_DIGEST,
	OPT_OLD,
	OPT_NEW,
	OPT_OLD_FD,
	OPT_NEW_FD,
	OPT_FIXED,
	OPT_IGNORE_CASE,
	OPT_NO_IGNORE,
	OPT_GLOB,
	OPT_CONTEXT,
	OPT_MAX,
	OPT_SORT,
	OPT_COUNT_,
	OPT_DIM = OPT_COUNT_,
};

#define VERB_ANY (-1)

struct verb {
	enum verb_id id;
	const char *name;
	enum verb_group group;
	const char *operands; /* "NAME [ARGS…]" for the usage line, or "" */
	int min, max;         /* how many operands; max may be VERB_ANY */
	const char *summary;  /* one line, no full stop */
	const char *details;  /* paragraphs for --help, may be NULL */
	const char *examples; /* "pale …" lines, may be NULL */
	struct opt_table (*options)(void);
	bool on_run_path; /* lives in `pale` itself */
};

extern const struct verb *const verbs[VERB_COUNT_];

/* The verb that ARGV begins with, longest name first; *ret_words is how many
 * words its name took. NULL: none. */
const struct verb *verb_find(int argc, char **argv, int *ret_words);
/* Do A and B share their first word? */
bool verb_is_kin(const struct verb *a, const struct verb *b);
const char *verb_group_title(enum verb_group group);
/* The value that OPTION takes, when it is one of a few: NULL-terminated, or NULL. */
const char *const *verb_option_choices(const struct opt *option);
