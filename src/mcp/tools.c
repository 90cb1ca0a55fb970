/* SPDX-License-Identifier: MIT */
#include "mcp/tools.h"

#include <string.h>

#include "api/verbs.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "config/load.h"

enum { COMMAND_MAX = 100000, CONTENT_MAX = 8 << 20, NUMBER_MAX = 1000000000 };

#define PATH_HELP "inside the workspace, or a path that the boundary lets commands see"
#define RUN_HELP  "a run's id, or the beginning of one"

/* clang-format off */
static const struct param run_params[] = {
	{"name", PARAM_TEXT, .required = true, .help = "of a registered command; commands lists them"},
	{"args", PARAM_TEXTS, .help = "further arguments for it"},
};
static const struct param exec_params[] = {
	{"command", PARAM_TEXT, .own = true, .max = COMMAND_MAX,
		.help = "a line for the shell; either this or argv"},
	{"argv", PARAM_TEXTS, .own = true,
		.help = "a program and its arguments, without a shell; either this or command"},
	{"cwd", PARAM_TEXT, "cwd", .help = "the folder in which it begins; the workspace when left out"},
	{"env", PARAM_MAP, "setenv", .help = "variables for the command"},
	{"timeout", PARAM_TEXT, "timeout", .help = "end it after this time: 30s, 5m; the policy's own limit stays"},
	{"background", PARAM_FLAG, "background"},
	{"shell", PARAM_FLAG, "shell",
		.help = "go on where the last such line ended: in its folder, with its exported variables"},
};
static const struct param output_params[] = {
	{"id", PARAM_TEXT, .required = true, .help = RUN_HELP},
	{"from", PARAM_NUMBER, "from", .max = INT64_MAX},
};
static const struct param read_params[] = {
	{"path", PARAM_TEXT, .required = true, .help = PATH_HELP},
	{"offset", PARAM_NUMBER, "offset", .min = 1, .max = NUMBER_MAX},
	{"limit", PARAM_NUMBER, "limit", .min = 1, .max = NUMBER_MAX},
};
static const struct param write_params[] = {
	{"path", PARAM_TEXT, .required = true, .help = PATH_HELP},
	{"content", PARAM_TEXT, .required = true, .own = true, .max = CONTENT_MAX,
		.help = "the whole new content"},
	{"overwrite", PARAM_FLAG, .own = true,
		.help = "replace a file that exists and was not read before, or has changed since"},
};
static const struct param edit_params[] = {
	{"path", PARAM_TEXT, .required = true, .help = PATH_HELP},
	{"old", PARAM_TEXT, .required = true, .own = true, .max = CONTENT_MAX,
		.help = "the exact text to be replaced; it must occur once, unless all is set"},
	{"new", PARAM_TEXT, .required = true, .own = true, .max = CONTENT_MAX,
		.help = "what stands in its place"},
	{"all", PARAM_FLAG, "all", .help = "replace every occurrence"},
};
static const struct param grep_params[] = {
	{"pattern", PARAM_TEXT, .required = true,
		.help = "a POSIX extended regular expression, also with \\d, \\w, \\s and \\b; or a plain "
			"text with fixed"},
	{"paths", PARAM_TEXTS, .help = "files and folders to look in; the whole workspace when left out"},
	{"fixed", PARAM_FLAG, "fixed"},
	{"ignore_case", PARAM_FLAG, "ignore-case"},
	{"glob", PARAM_TEXTS, "glob",
		.help = "only files whose name matches, or with a slash in it their path below the folder that is "
			"searched; with ! in front, only others"},
	{"context", PARAM_NUMBER, "context", .max = 50},
	{"max", PARAM_NUMBER, "max", .min = 1, .max = 10000},
};
static const struct param glob_params[] = {
	{"pattern", PARAM_TEXT, .required = true,
		.help = "src/**/*.{c,h}, relative to the workspace"},
	{"sort", PARAM_TEXT, "sort"},
	{"max", PARAM_NUMBER, "max", .min = 1, .max = 10000},
};
static const struct param diff_params[] = {
	{"paths", PARAM_TEXTS, .help = "only these; all changes when left out"},
	{"stat", PARAM_FLAG, .own = true, .help = "names and numbers of lines, not the patch"},
};
static const struct param info_params[] = {
	{"command", PARAM_TEXT, .own = true,
		.help = "of this registered command; of ad-hoc commands when left out"},
};
static const struct param register_params[] = {
	{"name", PARAM_TEXT, .required = true, .help = "what it is called from now on"},
	{"cmd", PARAM_TEXT, .own = true, .max = COMMAND_MAX, .help = "a line for the shell; either this or argv"},
	{"argv", PARAM_TEXTS, .own = true, .help = "a program and its arguments; either this or cmd"},
	{"sandbox", PARAM_TABLE, .own = true,
		.help = "a preset's name, or an object of dimensions, with base for the preset that it starts from"},
	{"description", PARAM_TEXT, "description", .max = 1000},
	{"timeout", PARAM_TEXT, .own = true, .help = "of this command: 30s, 5m"},
	{"force", PARAM_FLAG, "force"},
	{"run_now", PARAM_FLAG, .own = true, .help = "run it at once, and answer with that"},
};
static const struct param name_params[] = {
	{"name", PARAM_TEXT, .required = true, .help = "of a registered command"},
};
static const struct param history_params[] = {
	{"number", PARAM_NUMBER, "number", .min = 1, .max = 500},
	{"command", PARAM_TEXT, "command"},
	{"outcome", PARAM_TEXT, "outcome"},
	{"since", PARAM_TEXT, "since"},
};
static const struct param events_params[] = {
	{"number", PARAM_NUMBER, "number", .min = 1, .max = 500},
	{"kind", PARAM_TEXT, "kind"},
	{"run", PARAM_TEXT, "run"},
	{"since", PARAM_TEXT, "since"},
};
static const struct param why_params[] = {
	{"run", PARAM_TEXT, .help = RUN_HELP "; the last one when left out"},
};
static const struct param signal_params[] = {
	{"id", PARAM_TEXT, .required = true, .help = RUN_HELP},
	{"signal", PARAM_TEXT, .required = true, .help = "TERM, INT, KILL, HUP, USR1, …"},
};
static const struct param wait_params[] = {
	{"id", PARAM_TEXT, .required = true, .help = RUN_HELP},
	{"timeout", PARAM_TEXT, "timeout", .help = "wait so long at most: 30s"},
};
static const struct param discard_params[] = {
	{"paths", PARAM_TEXTS, .help = "only these; see all"},
	{"all", PARAM_FLAG, "all"},
};
static const struct param apply_params[] = {
	{"paths", PARAM_TEXTS, .help = "only these; all changes when left out"},
	{"take_staged", PARAM_TEXTS, "take-staged"},
};
static const struct param allow_params[] = {
	{"run", PARAM_TEXT, .required = true, .help = RUN_HELP},
	{"number", PARAM_TEXT, .required = true, .help = "which of its refusals, as why numbers them"},
	{"dry_run", PARAM_FLAG, "dry-run"},
};

#define PARAMS(list) .params = (list), .params_len = array_len(list)
#define READS        (TOOL_READ_ONLY | TOOL_IDEMPOTENT)

const struct tool tools[TOOL_COUNT_] = {
	[TOOL_RUN] = {"run", "Run a registered command", "run",
		"Run a command of the project (tests, build, lint) by its name, inside the boundary "
		"that it is registered with. Answers with how it ended, the end of its output, and "
		"what the boundary refused.",
		TOOL_DEFAULT | TOOL_RUNS | TOOL_DESTRUCTIVE, NULL, PARAMS(run_params)},
	[TOOL_EXEC] = {"exec", "Execute in the sandbox", "exec",
		"Execute a command inside the sandbox: a line for the shell, or a program with its "
		"arguments. With background it answers at once with the id of the run, which output "
		"takes; it ends with this connection, and no later command can signal it: give it a "
		"timeout where it must not last. Network and files outside of the workspace are "
		"closed as sandbox_info says, and nothing here can open them.",
		TOOL_DEFAULT | TOOL_RUNS | TOOL_SESSION | TOOL_DESTRUCTIVE, NULL, PARAMS(exec_params)},
	[TOOL_OUTPUT] = {"output", "Output of a background run", "output",
		"Read what a background run has printed, from an offset on, and whether it still runs "
		"or how it ended.",
		TOOL_DEFAULT | TOOL_SESSION | READS, NULL, PARAMS(output_params)},
	[TOOL_READ] = {"read", "Read a file", "file read",
		"Read a text file, as commands in the sandbox see it.",
		TOOL_DEFAULT | TOOL_FILES | TOOL_SESSION | READS, NULL, PARAMS(read_params)},
	[TOOL_WRITE] = {"write", "Write a file", "file write",
		"Create a file or replace its whole content. A file that exists must have been read "
		"before, and not have changed since.",
		TOOL_DEFAULT | TOOL_FILES | TOOL_SESSION | TOOL_DESTRUCTIVE | TOOL_IDEMPOTENT, NULL,
		PARAMS(write_params)},
	[TOOL_EDIT] = {"edit", "Edit a file", "file edit",
		"Replace an exact piece of text in a file. The file must not have changed since it "
		"was read.",
		TOOL_DEFAULT | TOOL_FILES | TOOL_SESSION | TOOL_DESTRUCTIVE, NULL, PARAMS(edit_params)},
	[TOOL_GREP] = {"grep", "Search in files", "file grep",
		"Search the text of files by a regular expression or a plain text. What .gitignore "
		"leaves out is left out.",
		TOOL_DEFAULT | TOOL_FILES | TOOL_SESSION | READS, NULL, PARAMS(grep_params)},
	[TOOL_GLOB] = {"glob", "Find files by name", "file glob",
		"List files whose path matches a pattern with *, **, ? and {a,b}.",
		TOOL_DEFAULT | TOOL_FILES | TOOL_SESSION | READS, "paths", PARAMS(glob_params)},
	[TOOL_DIFF] = {"diff", "Staged changes", "diff",
		"Show what this session has changed and what waits for the user's review, as a patch.",
		TOOL_DEFAULT | TOOL_STAGE | READS, NULL, PARAMS(diff_params)},
	[TOOL_COMMANDS] = {"commands", "Registered commands", "commands list",
		"List the commands of the project that run takes.",
		TOOL_DEFAULT | READS, "commands", NULL, 0},
	[TOOL_SANDBOX_INFO] = {"sandbox_info", "What a command may do", "sandbox inspect",
		"Say what the boundary of a registered command, or of ad-hoc commands, is: network, "
		"files, limits, its grade, and what the command has used so far.",
		TOOL_DEFAULT | READS, NULL, PARAMS(info_params)},
	[TOOL_SANDBOX_STATUS] = {"sandbox_status", "State of the sandbox", "status",
		"Say how commands are confined here: mode, engine, what enforces each dimension, and "
		"how often what happened.",
		TOOL_DEFAULT | TOOL_STATUS | READS, NULL, NULL, 0},
	[TOOL_REGISTER_COMMAND] = {"register_command", "Register a command", "commands register",
		"Write a command into the workspace's pale.toml. What it asks beyond the user's trust "
		"keeps it from running until the user agrees.",
		TOOL_ALONE | TOOL_DESTRUCTIVE | TOOL_NO_JSON, NULL, PARAMS(register_params)},
	[TOOL_UNREGISTER_COMMAND] = {"unregister_command", "Remove a command", "commands unregister",
		"Remove a command from the workspace's pale.toml.",
		TOOL_ALONE | TOOL_DESTRUCTIVE | TOOL_IDEMPOTENT | TOOL_NO_JSON, NULL, PARAMS(name_params)},
	[TOOL_HISTORY] = {"history", "What was run", "runs list",
		"List the newest runs of this workspace: how they ended and what they used.",
		READS, "runs", PARAMS(history_params)},
	[TOOL_EVENTS] = {"events", "What happened", "events list",
		"List the newest events of this workspace: starts, ends, refusals, applies.",
		READS, "events", PARAMS(events_params)},
	[TOOL_WHY] = {"why", "Why it was refused", "why",
		"Say what a run was refused by its boundary, and what would allow it.",
		READS, NULL, PARAMS(why_params)},
	[TOOL_SIGNAL] = {"signal", "Signal a run", "signal",
		"Send a signal to a run of this session.",
		TOOL_SESSION | TOOL_DESTRUCTIVE | TOOL_NO_JSON, NULL, PARAMS(signal_params)},
	[TOOL_WAIT] = {"wait", "Wait for a run", "wait",
		"Wait for the end of a background run, and say how it ended.",
		TOOL_SESSION | TOOL_STATUS | READS, NULL, PARAMS(wait_params)},
	[TOOL_DISCARD] = {"discard", "Throw staged changes away", "discard",
		"Throw away what this session has staged.",
		TOOL_STAGE | TOOL_ALONE | TOOL_STATUS | TOOL_DESTRUCTIVE | TOOL_IDEMPOTENT, NULL,
		PARAMS(discard_params)},
	[TOOL_APPLY] = {"apply", "Apply staged changes", "apply",
		"Write what this session has staged into the workspace.",
		TOOL_STAGE | TOOL_ALONE | TOOL_STATUS | TOOL_DESTRUCTIVE, NULL, PARAMS(apply_params)},
	[TOOL_UNDO] = {"undo", "Undo the last apply", "undo",
		"Take back the last apply or discard of this connection.",
		TOOL_ALONE | TOOL_STATUS | TOOL_DESTRUCTIVE, NULL, NULL, 0},
	[TOOL_ALLOW] = {"allow", "Allow what was refused", "allow",
		"Write the smallest rule that a refused attempt needed into the workspace's pale.toml.",
		TOOL_ALONE | TOOL_DESTRUCTIVE | TOOL_NO_JSON, NULL, PARAMS(allow_params)},
};
/* clang-format on */

const struct tool *tool_find(const char *name)
{
	for (size_t i = 0; i < TOOL_COUNT_; i++)
		if (str_eq(tools[i].name, name))
			return &tools[i];
	return NULL;
}

const struct verb *tool_verb(const struct tool *tool)
{
	for (int i = 0; i < VERB_COUNT_; i++)
		if (str_eq(verbs[i]->name, tool->verb))
			return verbs[i];
	BUG("a tool without a verb");
}

static const struct opt *find_option(const struct tool *tool, const char *name)
{
	struct opt_table table = tool_verb(tool)->options();

	for (const struct opt *at = table.items; at < table.items + table.len; at++)
		if (str_eq(at->name, name))
			return at;
	return NULL;
}

bool tool_has_option(const struct tool *tool, const char *name)
{
	return find_option(tool, name) != NULL;
}

const struct opt *param_option(const struct tool *tool, const struct param *param)
{
	return param->option ? find_option(tool, param->option) : NULL;
}

bool param_is_offered(const struct tool *tool, const struct param *param)
{
	return !param->option || find_option(tool, param->option);
}

/* --- what is exposed --- */

static bool lists(const struct toml_value *value, const char *name)
{
	for (size_t i = 0; i < value->array.len; i++)
		if (str_eq(value->array.items[i]->string.bytes, name))
			return true;
	return false;
}

/* Does every ceiling let it pass? */
static bool is_below(const struct config *config, const char *name)
{
	static const char *const path[] = {"ceiling", "mcp_tools", NULL};
	struct setting setting;

	for (int layer = LAYER_SYSTEM; layer <= LAYER_USER; layer++)
		if (config_get_at(config, (enum layer)layer, path, &setting) &&
		    !lists(setting.value, name))
			return false;
	return true;
}

uint64_t tools_exposed(const struct config *config)
{
	static const char *const path[] = {"mcp", "expose", NULL};
	struct setting setting;
	bool has_more = config_get(config, path, &setting);
	uint64_t exposed = 0;

	for (size_t i = 0; i < TOOL_COUNT_; i++) {
		const char *name = tools[i].name;
		bool wanted = tools[i].flags & TOOL_DEFAULT ||
			      (has_more && lists(setting.value, name));

		if (wanted && is_below(config, name))
			exposed |= (uint64_t)1 << i;
	}
	return exposed;
}
