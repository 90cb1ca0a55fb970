/* SPDX-License-Identifier: MIT */
#include "api/verbs.h"

#include <string.h>

#include "api/verb-rows.h"
#include "base/cleanup.h"
#include "base/str.h"

const struct verb *const verbs[VERB_COUNT_] = {
	[VERB_RUN] = &verb_run,
	[VERB_SHELL] = &verb_shell,
	[VERB_EXEC] = &verb_exec,
	[VERB_CHECK] = &verb_check,
	[VERB_COMMANDS_LIST] = &verb_commands_list,
	[VERB_COMMANDS_SHOW] = &verb_commands_show,
	[VERB_COMMANDS_REGISTER] = &verb_commands_register,
	[VERB_COMMANDS_UNREGISTER] = &verb_commands_unregister,
	[VERB_DIFF] = &verb_diff,
	[VERB_REVIEW] = &verb_review,
	[VERB_APPLY] = &verb_apply,
	[VERB_DISCARD] = &verb_discard,
	[VERB_UNDO] = &verb_undo,
	[VERB_STAGES_LIST] = &verb_stages_list,
	[VERB_STAGES_RM] = &verb_stages_rm,
	[VERB_SANDBOX_LIST] = &verb_sandbox_list,
	[VERB_SANDBOX_INSPECT] = &verb_sandbox_inspect,
	[VERB_SANDBOX_PROFILE] = &verb_sandbox_profile,
	[VERB_SANDBOX_SUGGEST] = &verb_sandbox_suggest,
	[VERB_SANDBOX_TIGHTEN] = &verb_sandbox_tighten,
	[VERB_CONFIG_SHOW] = &verb_config_show,
	[VERB_CONFIG_CHECK] = &verb_config_check,
	[VERB_CONFIG_KEYS] = &verb_config_keys,
	[VERB_TRUST] = &verb_trust,
	[VERB_ALLOW] = &verb_allow,
	[VERB_SESSION_LIST] = &verb_session_list,
	[VERB_SESSION_START] = &verb_session_start,
	[VERB_SESSION_STOP] = &verb_session_stop,
	[VERB_SESSION_RM] = &verb_session_rm,
	[VERB_SESSION_PRUNE] = &verb_session_prune,
	[VERB_SESSION_NETWORK] = &verb_session_network,
	[VERB_OUTPUT] = &verb_output,
	[VERB_SIGNAL] = &verb_signal,
	[VERB_WAIT] = &verb_wait,
	[VERB_WHY] = &verb_why,
	[VERB_FILE_READ] = &verb_file_read,
	[VERB_FILE_WRITE] = &verb_file_write,
	[VERB_FILE_EDIT] = &verb_file_edit,
	[VERB_FILE_GREP] = &verb_file_grep,
	[VERB_FILE_GLOB] = &verb_file_glob,
	[VERB_RUNS_LIST] = &verb_runs_list,
	[VERB_RUNS_PRUNE] = &verb_runs_prune,
	[VERB_SHOW] = &verb_show,
	[VERB_EVENTS_LIST] = &verb_events_list,
	[VERB_EVENTS_ANNOTATE] = &verb_events_annotate,
	[VERB_STATUS] = &verb_status,
	[VERB_DOCTOR] = &verb_doctor,
	[VERB_INIT] = &verb_init,
	[VERB_MCP_SERVE] = &verb_mcp_serve,
	[VERB_MCP_INSTALL] = &verb_mcp_install,
	[VERB_COMPLETIONS] = &verb_completions,
	[VERB_VERSION] = &verb_version,
	[VERB_HELP] = &verb_help,
};

/* Does NAME match the beginning of ARGV? Returns its words, or 0. */
static int match_words(const char *name, int argc, char **argv)
{
	for (int word = 0; word < argc && argv[word]; word++) {
		size_t len = strcspn(name, " ");

		if (strlen(argv[word]) != len || memcmp(argv[word], name, len) != 0)
			return 0;
		if (!name[len])
			return word + 1;
		name += len + 1;
	}
	return 0;
}

/* Is WORD the first word of NAME, which has another one? */
static bool is_family(const char *name, const char *word)
{
	size_t len = strcspn(name, " ");

	return name[len] && strlen(word) == len && memcmp(word, name, len) == 0;
}

const struct verb *verb_find(int argc, char **argv, int *ret_words)
{
	for (int i = 0; i < VERB_COUNT_; i++) {
		int words = match_words(verbs[i]->name, argc, argv);

		if (words > 0) {
			*ret_words = words;
			return verbs[i];
		}
	}
	if (argc < 1 || (argc > 1 && argv[1][0] != '-'))
		return NULL;
	for (int i = 0; i < VERB_COUNT_; i++) {
		if (is_family(verbs[i]->name, argv[0])) {
			*ret_words = 1;
			return verbs[i];
		}
	}
	return NULL;
}

bool verb_is_kin(const struct verb *a, const struct verb *b)
{
	size_t len = strcspn(a->name, " ");

	return strcspn(b->name, " ") == len && memcmp(a->name, b->name, len) == 0;
}

const char *verb_group_title(enum verb_group group)
{
	static const char *const titles[GROUP_COUNT_] = {
		[GROUP_RUN] = "Run",         [GROUP_REVIEW] = "Review",
		[GROUP_POLICY] = "Policy",   [GROUP_SESSIONS] = "Sessions",
		[GROUP_HISTORY] = "History", [GROUP_SETUP] = "Setup",
	};

	return titles[group];
}
