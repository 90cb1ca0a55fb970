/* SPDX-License-Identifier: MIT */
/* Rows of verbs[]: running commands. */
#include "api/verb-options.h"
#include "api/verb-rows.h"

const struct verb verb_run = {
	.id = VERB_RUN,
	.name = "run",
	.group = GROUP_RUN,
	.operands = "(NAME [ARGS…] | -- CMD [ARGS…])",
	.max = VERB_ANY,
	.summary = "run a command inside the boundary",
	.details = "NAME is a registered command; further arguments are passed to it.\n"
		   "After -- stands a program with its arguments, which runs without a\n"
		   "shell under [sandbox] preset. Options come before NAME or --.\n"
		   "\n"
		   "The exit status is the command's own; 124 it timed out, 125 pale\n"
		   "could not run it and nothing was executed, 126 it is not executable,\n"
		   "127 it was not found, 128+N signal N ended it.",
	.examples = "pale run test\n"
		    "pale run -- make -j4\n"
		    "pale run --preset readonly --timeout 10s -- ./check.sh\n"
		    "pale run --explain -- true",
	.options = options_run,
	.on_run_path = true,
};

const struct verb verb_shell = {
	.id = VERB_SHELL,
	.name = "shell",
	.group = GROUP_RUN,
	.operands = "",
	.summary = "open a shell inside the boundary",
	.details = "The shell that $SHELL names, if it is listed in /etc/shells and can be\n"
		   "executed inside; else /bin/sh. It runs under [sandbox] preset, as a\n"
		   "program after `pale run --` does, and takes the same options. Needs a\n"
		   "terminal on standard input.\n"
		   "\n"
		   "The exit status is the shell's own; 124, 125, 126, 127 and 128+N as of\n"
		   "`pale run`.",
	.examples = "pale shell\n"
		    "pale shell --filesystem readonly --ephemeral",
	.options = options_run,
	.on_run_path = true,
};

const struct verb verb_check = {
	.id = VERB_CHECK,
	.name = "check",
	.group = GROUP_RUN,
	.operands = "[NAME…]",
	.max = VERB_ANY,
	.summary = "run several registered commands at once",
	.details = "Without a NAME, those that [lanes] check lists, else all. As many run at\n"
		   "once as [lanes] max_parallel says, over all checks of this workspace;\n"
		   "the others wait, and more than [lanes] queue_capacity are refused. What\n"
		   "a command prints is shown when it failed.\n"
		   "\n"
		   "The exit status is that of the worst: first what pale could not run\n"
		   "(125, 127, 126), then timeouts (124), then signals and limits (128+N),\n"
		   "then the highest of the others. 125 also when nothing was run at all.",
	.examples = "pale check\n"
		    "pale check lint test --fail-fast\n"
		    "pale check --jobs 2 --junit report.xml",
	.options = options_check,
};

const struct verb verb_commands_list = {
	.id = VERB_COMMANDS_LIST,
	.name = "commands list",
	.group = GROUP_RUN,
	.operands = "",
	.summary = "list the registered commands",
	.options = options_commands_list,
};

const struct verb verb_commands_show = {
	.id = VERB_COMMANDS_SHOW,
	.name = "commands show",
	.group = GROUP_RUN,
	.operands = "NAME",
	.min = 1,
	.max = 1,
	.summary = "show one command and where it is written",
	.options = options_data,
};

const struct verb verb_commands_register = {
	.id = VERB_COMMANDS_REGISTER,
	.name = "commands register",
	.group = GROUP_RUN,
	.operands = "NAME (CMD | -- ARGV…)",
	.min = 2,
	.max = VERB_ANY,
	.summary = "add a command to the workspace's pale.toml",
	.details = "CMD is one shell line; it runs as `sh -c` inside the boundary. After\n"
		   "-- stands a list that runs without a shell. Everything else in the\n"
		   "file stays as it is, byte for byte.",
	.examples = "pale commands register test 'pytest -q tests/' --sandbox test\n"
		    "pale commands register lint --sandbox readonly -- ruff check .",
	.options = options_commands_register,
};

const struct verb verb_commands_unregister = {
	.id = VERB_COMMANDS_UNREGISTER,
	.name = "commands unregister",
	.group = GROUP_RUN,
	.operands = "NAME",
	.min = 1,
	.max = 1,
	.summary = "remove a command from the workspace's pale.toml",
	.options = options_plain,
};
