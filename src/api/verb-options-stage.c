/* SPDX-License-Identifier: MIT */
/* verb-options-stage - the options of verbs about staged writes. */
#include "api/verb-options.h"

#include "api/verb-options-impl.h"

#define STAGE                                                                                      \
	{                                                                                          \
		"stage", 0, "NAME", "this stage, not the workspace's current one", OPT_STAGE, NULL \
	}
#define ACCEPT_UNSYNCED                                                                            \
	{                                                                                          \
		"accept-unsynced", 0, NULL, "even if a crash of the machine may have cut files",   \
			OPT_ACCEPT_UNSYNCED, NULL                                                  \
	}
struct opt_table options_diff(void)
{
	static const struct opt items[] = {
		{"stat", 0, NULL, "print how much of each file changed", OPT_STAT, NULL},
		{"name-status", 0, NULL, "print the names and what happened to them",
		 OPT_NAME_STATUS, NULL},
		JSON,
		{"conflict", 0, "PATH", "show both sides of a conflict", OPT_CONFLICT, NULL},
		{"exit-code", 0, NULL, "exit with 1 when something is staged", OPT_EXIT_CODE, NULL},
		STAGE,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_review(void)
{
	static const struct opt items[] = {STAGE, ACCEPT_UNSYNCED, WORKSPACE, HELP};

	return TABLE(items);
}

struct opt_table options_apply(void)
{
	static const struct opt items[] = {
		{"hunk", 0, "FILE:N",
		 "only the Nth hunk of FILE, as pale diff has them; repeatable", OPT_HUNK, NULL},
		{"include-protected", 0, "PATH",
		 "protected files at and below PATH too; repeatable", OPT_INCLUDE_PROTECTED, NULL},
		{"take-staged", 0, "PATH", "in a conflict, overwrite the workspace's; repeatable",
		 OPT_TAKE_STAGED, NULL},
		ACCEPT_UNSYNCED,
		JSON,
		STAGE,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_discard(void)
{
	static const struct opt items[] = {
		{"all", 0, NULL, "everything, without a question", OPT_ALL, NULL},
		JSON,
		STAGE,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_undo(void)
{
	static const struct opt items[] = {
		{"list", 0, NULL, "list what can be taken back, newest first", OPT_LIST, NULL},
		JSON,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_stages_list(void)
{
	static const struct opt items[] = {NAMES, JSON, WORKSPACE, HELP};

	return TABLE(items);
}

struct opt_table options_stages_rm(void)
{
	static const struct opt items[] = {
		{"force", 'f', NULL, "also one that holds changes; they are lost", OPT_FORCE, NULL},
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}
