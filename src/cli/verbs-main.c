/* SPDX-License-Identifier: MIT */
/* pale-verbs - every verb but `run`; started by `pale`. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "mcp/serve.h"

/* What is not for the server itself is for its session. */
static int set_serve(const struct opt *opt, const char *value, void *data, struct err *err)
{
	struct serve *serve = data;
	int r = 0;

	if (opt->id == OPT_WORKSPACE)
		serve->workspace = value;
	else if (value)
		r = strv_addf(&serve->boundary, "--%s=%s", opt->name, value);
	else
		r = strv_addf(&serve->boundary, "--%s", opt->name);
	if (opt->id == OPT_STAGED || opt->id == OPT_DIRECT)
		serve->mode = opt->name;
	return r < 0 ? err_oom(err) : 0;
}

static int cmd_mcp_serve(int argc, char **argv)
{
	struct serve serve = {0};
	struct opt_args operands;
	struct err err = {0};
	int r = verb_parse(VERB_MCP_SERVE, argc, argv, set_serve, &serve, &operands, &err);

	if (r == 0 && isatty(0))
		dprintf(2,
			"pale: this is a server for MCP clients, which write JSON to it; `pale mcp "
			"install` adds it to one. Ctrl-D ends it.\n");
	if (r == 0)
		r = mcp_serve(&serve, &err);
	strv_release(&serve.boundary);
	return r < 0 ? report(&err) : STATUS_OK;
}

static command_fn *const commands[VERB_COUNT_] = {
	[VERB_CHECK] = cmd_check,
	[VERB_COMMANDS_LIST] = cmd_commands_list,
	[VERB_COMMANDS_SHOW] = cmd_commands_show,
	[VERB_COMMANDS_REGISTER] = cmd_commands_register,
	[VERB_COMMANDS_UNREGISTER] = cmd_commands_unregister,
	[VERB_DIFF] = cmd_diff,
	[VERB_REVIEW] = cmd_review,
	[VERB_APPLY] = cmd_apply,
	[VERB_DISCARD] = cmd_discard,
	[VERB_UNDO] = cmd_undo,
	[VERB_STAGES_LIST] = cmd_stages_list,
	[VERB_STAGES_RM] = cmd_stages_rm,
	[VERB_SANDBOX_LIST] = cmd_sandbox_list,
	[VERB_SANDBOX_INSPECT] = cmd_sandbox_inspect,
	[VERB_SANDBOX_PROFILE] = cmd_sandbox_profile,
	[VERB_SANDBOX_SUGGEST] = cmd_sandbox_suggest,
	[VERB_SANDBOX_TIGHTEN] = cmd_sandbox_tighten,
	[VERB_CONFIG_SHOW] = cmd_config_show,
	[VERB_CONFIG_CHECK] = cmd_config_check,
	[VERB_CONFIG_KEYS] = cmd_config_keys,
	[VERB_TRUST] = cmd_trust,
	[VERB_ALLOW] = cmd_allow,
	[VERB_WHY] = cmd_why,
	[VERB_RUNS_LIST] = cmd_runs_list,
	[VERB_RUNS_PRUNE] = cmd_runs_prune,
	[VERB_SHOW] = cmd_show,
	[VERB_EVENTS_LIST] = cmd_events_list,
	[VERB_EVENTS_ANNOTATE] = cmd_events_annotate,
	[VERB_STATUS] = cmd_status,
	[VERB_DOCTOR] = cmd_doctor,
	[VERB_INIT] = cmd_init,
	[VERB_MCP_SERVE] = cmd_mcp_serve,
	[VERB_MCP_INSTALL] = cmd_mcp_install,
	[VERB_COMPLETIONS] = cmd_completions,
	[VERB_VERSION] = cmd_version,
	[VERB_HELP] = cmd_help,
};

static int short_help(void)
{
	_cleanup_(str_release) struct str out = {0};

	if (help_main(&out) == 0)
		fd_write_all(STDERR_FILENO, str_text(&out), out.len);
	return STATUS_USAGE;
}

int main(int argc, char **argv)
{
	const struct verb *verb;
	struct err err = {0};
	int words = 0;

	stdio_ensure();
	if (argc < 2)
		return short_help();
	if (str_eq(argv[1], "--help") || str_eq(argv[1], "-h"))
		argv[1] = "help";
	else if (str_eq(argv[1], "--version"))
		argv[1] = "version";
	verb = verb_find(argc - 1, argv + 1, &words);
	if (verb && commands[verb->id])
		return commands[verb->id](argc - words, argv + words);
	if (verb)
		err_set(&err, ERR_USAGE, -EINVAL, "'%s' is a verb of pale itself", verb->name);
	else
		verb_unknown(argc - 1, argv + 1, &err);
	return report(&err);
}
