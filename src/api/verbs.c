/* SPDX-License-Identifier: MIT */
#include "api/verbs.h"

#include <string.h>

#include "api/verb-options.h"
#include "base/cleanup.h"
#include "base/str.h"

const struct verb verbs[VERB_COUNT_] = {
	[VERB_RUN] =
		{
			.name = "run",
			.group = GROUP_RUN,
			.operands = "(NAME [ARGS…] | -- CMD [ARGS…])",
			.max = VERB_ANY,
			.summary = "run a command inside the boundary",
			.details =
				"NAME is a registered command; further arguments are passed to it.\n"
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
		},
	[VERB_SHELL] =
		{
			.name = "shell",
			.group = GROUP_RUN,
			.operands = "",
			.summary = "open a shell inside the boundary",
			.details =
				"The shell that $SHELL names, if it is listed in /etc/shells and can be\n"
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
		},
	[VERB_CHECK] =
		{
			.name = "check",
			.group = GROUP_RUN,
			.operands = "[NAME…]",
			.max = VERB_ANY,
			.summary = "run several registered commands at once",
			.details =
				"Without a NAME, those that [lanes] check lists, else all. As many run at\n"
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
		},
	[VERB_COMMANDS_LIST] =
		{
			.name = "commands list",
			.group = GROUP_RUN,
			.operands = "",
			.summary = "list the registered commands",
			.options = options_commands_list,
		},
	[VERB_COMMANDS_SHOW] =
		{
			.name = "commands show",
			.group = GROUP_RUN,
			.operands = "NAME",
			.min = 1,
			.max = 1,
			.summary = "show one command and where it is written",
			.options = options_data,
		},
	[VERB_COMMANDS_REGISTER] =
		{
			.name = "commands register",
			.group = GROUP_RUN,
			.operands = "NAME (CMD | -- ARGV…)",
			.min = 2,
			.max = VERB_ANY,
			.summary = "add a command to the workspace's pale.toml",
			.details =
				"CMD is one shell line; it runs as `sh -c` inside the boundary. After\n"
				"-- stands a list that runs without a shell. Everything else in the\n"
				"file stays as it is, byte for byte.",
			.examples =
				"pale commands register test 'pytest -q tests/' --sandbox test\n"
				"pale commands register lint --sandbox readonly -- ruff check .",
			.options = options_commands_register,
		},
	[VERB_COMMANDS_UNREGISTER] =
		{
			.name = "commands unregister",
			.group = GROUP_RUN,
			.operands = "NAME",
			.min = 1,
			.max = 1,
			.summary = "remove a command from the workspace's pale.toml",
			.options = options_plain,
		},
	[VERB_DIFF] =
		{
			.name = "diff",
			.group = GROUP_REVIEW,
			.operands = "[PATH…]",
			.max = VERB_ANY,
			.summary = "show what is staged",
			.details =
				"A patch that `git apply` takes as it is. On a terminal it is coloured,\n"
				"goes through a pager ($PALE_PAGER, $GIT_PAGER, $PAGER, else less), and\n"
				"control characters are shown escaped. Exits with 0, also when there are\n"
				"changes; see --exit-code.",
			.examples = "pale diff\n"
				    "pale diff --stat src\n"
				    "pale diff | git apply --check",
			.options = options_diff,
		},
	[VERB_REVIEW] =
		{
			.name = "review",
			.group = GROUP_REVIEW,
			.operands = "[PATH…]",
			.max = VERB_ANY,
			.summary = "accept or reject staged changes, one by one",
			.details =
				"Shows one change at a time; press ? for the keys. Nothing happens until\n"
				"the end: then, after a question, what you accepted is applied in one\n"
				"step, and what you rejected is thrown away or stays staged, as you say.\n"
				"`pale undo` takes either back. When you quit before, your decisions are\n"
				"kept for the next time.",
			.options = options_review,
		},
	[VERB_APPLY] =
		{
			.name = "apply",
			.group = GROUP_REVIEW,
			.operands = "[PATH…]",
			.max = VERB_ANY,
			.summary = "write staged changes to the workspace",
			.details =
				"Everything that is staged, or what is at and below each PATH. All of it\n"
				"happens or none, and `pale undo` takes it back. Protected files stay\n"
				"staged unless they are named with --include-protected. So does what you\n"
				"have changed yourself meanwhile, unless both changes can be merged; then\n"
				"the exit status is 1.",
			.examples = "pale apply\n"
				    "pale apply src --hunk README.md:2\n"
				    "pale apply .envrc --include-protected .envrc",
			.options = options_apply,
		},
	[VERB_DISCARD] =
		{
			.name = "discard",
			.group = GROUP_REVIEW,
			.operands = "[PATH…]",
			.max = VERB_ANY,
			.summary = "throw staged changes away",
			.details =
				"Without a PATH it is about everything that is staged, and asks; where\n"
				"there is no terminal --all is needed. `pale undo` takes it back.",
			.options = options_discard,
		},
	[VERB_UNDO] =
		{
			.name = "undo",
			.group = GROUP_REVIEW,
			.operands = "[APPLY]",
			.max = 1,
			.summary = "take back an apply or a discard",
			.details =
				"APPLY is the name that `pale apply` printed; without it, the last one\n"
				"that was not taken back. Files are restored exactly, and what was\n"
				"applied is staged again. A file that has changed since is left alone;\n"
				"then the exit status is 1.",
			.options = options_undo,
		},
	[VERB_STAGES_LIST] =
		{
			.name = "stages list",
			.group = GROUP_REVIEW,
			.operands = "",
			.summary = "list the stages of this workspace",
			.details = "A stage stays until it is applied, discarded or removed.",
			.options = options_data,
		},
	[VERB_STAGES_RM] =
		{
			.name = "stages rm",
			.group = GROUP_REVIEW,
			.operands = "NAME…",
			.min = 1,
			.max = VERB_ANY,
			.summary = "remove a stage",
			.details =
				"One that still holds changes is removed with --force only, and then\n"
				"there is no undo; `pale discard --stage NAME` has one.",
			.options = options_stages_rm,
		},
	[VERB_SANDBOX_LIST] =
		{
			.name = "sandbox list",
			.group = GROUP_POLICY,
			.operands = "",
			.summary = "list what every command may do",
			.details =
				"WORLD says how far a command reaches: sealed, pinhole, scoped, broad\n"
				"or open. CEILING is the most that its effects can amount to: 2, 4, 7\n"
				"or 8. Both follow from the policy; `pale run --explain` grades what is\n"
				"enforced on this machine.",
			.options = options_data,
		},
	[VERB_SANDBOX_INSPECT] =
		{
			.name = "sandbox inspect",
			.group = GROUP_POLICY,
			.operands = "(NAME | PRESET)",
			.min = 1,
			.max = 1,
			.summary = "show one sandbox, value by value",
			.details = "A registered command comes before a preset of the same name.",
			.options = options_sandbox_inspect,
		},
	[VERB_SANDBOX_PROFILE] =
		{
			.name = "sandbox profile",
			.group = GROUP_POLICY,
			.operands = "(NAME | -- CMD [ARGS…])",
			.min = 1,
			.max = VERB_ANY,
			.summary = "run a command once and show what it uses",
			.details =
				"It runs in its own sandbox, with all of its writes in a stage that is\n"
				"thrown away: nothing stays, and nothing is open that is not open to it\n"
				"anyway. What it read, wrote, executed and connected to is printed, and\n"
				"kept for `pale sandbox suggest`. Its output goes to standard error.\n"
				"\n"
				"Exits with 0 when the command succeeded, else with 1.",
			.examples = "pale sandbox profile test\n"
				    "pale sandbox profile --read /srv/data import\n"
				    "pale sandbox profile -- make -j4",
			.options = options_sandbox_profile,
		},
	[VERB_SANDBOX_SUGGEST] =
		{
			.name = "sandbox suggest",
			.group = GROUP_POLICY,
			.operands = "NAME",
			.min = 1,
			.max = 1,
			.summary = "make a sandbox from what a command uses",
			.details =
				"From its profile, which is made first where there is none, and from its\n"
				"history. The command is run once more under the suggestion, again with\n"
				"nothing kept; one that does not let it work is not offered. Nothing is\n"
				"opened that was closed to the profiled run, but for caches, which are\n"
				"folders of the project's own.",
			.options = options_sandbox_suggest,
		},
	[VERB_SANDBOX_TIGHTEN] =
		{
			.name = "sandbox tighten",
			.group = GROUP_POLICY,
			.operands = "(NAME… | --all)",
			.max = VERB_ANY,
			.summary = "narrow the limits of commands to what they used",
			.details =
				"After three successful runs: twice the peak of memory and CPU time,\n"
				"three times the longest duration, at least 64m, 5s and 10s. No limit\n"
				"becomes looser. pale.toml is changed, the rest of it stays as it is.",
			.options = options_sandbox_tighten,
		},
	[VERB_CONFIG_SHOW] =
		{
			.name = "config show",
			.group = GROUP_POLICY,
			.operands = "",
			.summary = "show the settings of all files together",
			.options = options_config_show,
		},
	[VERB_CONFIG_CHECK] =
		{
			.name = "config check",
			.group = GROUP_POLICY,
			.operands = "[FILE]",
			.max = 1,
			.summary = "check the configuration, or one FILE of it",
			.details =
				"For CI: exits with 0 when all is well, with 1 when not. FILE is\n"
				"checked as a workspace's pale.toml.",
			.options = options_data,
		},
	[VERB_CONFIG_KEYS] =
		{
			.name = "config keys",
			.group = GROUP_POLICY,
			.operands = "",
			.summary = "list every key that a pale.toml may hold",
			.options = options_json,
		},
	[VERB_TRUST] =
		{
			.name = "trust",
			.group = GROUP_POLICY,
			.operands = "",
			.summary = "allow what this workspace asks beyond the ceiling",
			.details =
				"A workspace's pale.toml may not open the network, reach outside the\n"
				"workspace, pass variables or show processes until you agree. The\n"
				"values are shown, and your answer holds for exactly these: a change to\n"
				"one of them asks again.",
			.options = options_trust,
		},
	[VERB_ALLOW] =
		{
			.name = "allow",
			.group = GROUP_POLICY,
			.operands = "[RUN] [N]",
			.max = 2,
			.summary = "write the rule that a refused attempt needed",
			.details =
				"The smallest rule under which number N of `pale why RUN` would have\n"
				"passed, in the sandbox of the command that was run. Shows first what\n"
				"is written and what it opens, and asks. Credentials, a whole home and\n"
				"pale's own files are never opened this way, and ceilings hold.\n"
				"\n"
				"Without RUN it is about the last run; without N there must be one\n"
				"number only.",
			.examples = "pale allow --project\n"
				    "pale allow 2 --project --dry-run",
			.options = options_allow,
		},
	[VERB_WHY] =
		{
			.name = "why",
			.group = GROUP_HISTORY,
			.operands = "[RUN]",
			.max = 1,
			.summary = "say what a run was refused, and what would allow it",
			.details =
				"RUN is an id, or the beginning of one; without it, the last run. What\n"
				"was refused is what the kernel saw, the likeliest reason first; each\n"
				"has a number for `pale allow`.",
			.options = options_data,
		},
	[VERB_RUNS_LIST] =
		{
			.name = "runs list",
			.group = GROUP_HISTORY,
			.operands = "",
			.summary = "list what was run here, the newest first",
			.details =
				"Every run of the workspace is remembered: the command's name, how it\n"
				"ended, what it used, what was refused. Its arguments are not, unless\n"
				"[history] store_argv is set, nor is anything that it was given or said.",
			.examples = "pale runs\n"
				    "pale runs --command test --outcome failed --since 2d\n"
				    "pale runs -n 0 --json",
			.options = options_runs_list,
		},
	[VERB_RUNS_PRUNE] =
		{
			.name = "runs prune",
			.group = GROUP_HISTORY,
			.operands = "",
			.summary = "forget runs that are older than a given time",
			.details =
				"Their events and kept output go with them. Nothing else removes\n"
				"runs from the history.",
			.examples = "pale runs prune --older-than 30d --dry-run",
			.options = options_runs_prune,
		},
	[VERB_SHOW] =
		{
			.name = "show",
			.group = GROUP_HISTORY,
			.operands = "RUN",
			.min = 1,
			.max = 1,
			.summary = "show one run: how it ended, what was refused",
			.details =
				"RUN is an id as pale runs lists them, the beginning of one, or `last`.",
			.examples = "pale show last\n"
				    "pale show last --output",
			.options = options_show,
		},
	[VERB_EVENTS_LIST] =
		{
			.name = "events list",
			.group = GROUP_HISTORY,
			.operands = "",
			.summary = "list what happened: starts, ends, refusals, applies",
			.examples = "pale events --kind sandbox.denied --since 1h\n"
				    "pale events --run last\n"
				    "pale events --follow --json",
			.options = options_events_list,
		},
	[VERB_EVENTS_ANNOTATE] =
		{
			.name = "events annotate",
			.group = GROUP_HISTORY,
			.operands = "",
			.summary = "let annotators look at events that they have not seen",
			.details =
				"Annotators are programs in the folder annotators beside your own\n"
				"pale.toml, never of a workspace. Those that are eager have looked before;\n"
				"one that failed is asked again.",
			.examples = "pale events annotate --run last",
			.options = options_events_annotate,
		},
	[VERB_STATUS] =
		{
			.name = "status",
			.group = GROUP_SETUP,
			.operands = "",
			.summary = "show what would be enforced here, and by what",
			.details =
				"Every dimension, also those that the sandbox leaves open: then what\n"
				"holding them would rest on. Nothing is started or tried; whether this\n"
				"machine really lets pale do it, `pale doctor` finds out.\n"
				"\n"
				"Exits with 1 when a command would be refused here.",
			.examples = "pale status\n"
				    "pale status --preset build",
			.options = options_status,
		},
	[VERB_DOCTOR] =
		{
			.name = "doctor",
			.group = GROUP_SETUP,
			.operands = "",
			.summary = "find what this machine lacks, and how to mend it",
			.details =
				"Looks at the kernel and its settings, and tries the namespaces in a\n"
				"process that ends at once. What is weak or missing is told with what\n"
				"it costs and the command that mends it; no command is executed.\n"
				"\n"
				"Exits with 0 when everything works that a command in this workspace\n"
				"needs, else with 1.",
			.options = options_data,
		},
	[VERB_INIT] =
		{
			.name = "init",
			.group = GROUP_SETUP,
			.operands = "",
			.summary = "write a pale.toml for this workspace",
			.details =
				"With --detect, commands are taken from Makefile, CMakeLists.txt,\n"
				"meson.build, package.json, Cargo.toml, go.mod, pyproject.toml,\n"
				"pytest.ini, setup.cfg and tox.ini; nothing of them is executed. An\n"
				"existing pale.toml then only gains the commands that it lacks.",
			.options = options_init,
		},
	[VERB_COMPLETIONS] =
		{
			.name = "completions",
			.group = GROUP_SETUP,
			.operands = "(bash | zsh | fish)",
			.min = 1,
			.max = 1,
			.summary = "print a completion script for a shell",
			.examples = "source <(pale completions bash)",
			.options = options_help,
		},
	[VERB_VERSION] =
		{
			.name = "version",
			.group = GROUP_SETUP,
			.operands = "",
			.summary = "print the version",
			.options = options_json,
		},
	[VERB_HELP] =
		{
			.name = "help",
			.group = GROUP_SETUP,
			.operands = "[VERB]",
			.max = 2,
			.summary = "explain pale, or one verb of it",
			.options = options_json,
		},
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
		int words = match_words(verbs[i].name, argc, argv);

		if (words > 0) {
			*ret_words = words;
			return &verbs[i];
		}
	}
	if (argc < 1 || (argc > 1 && argv[1][0] != '-'))
		return NULL;
	for (int i = 0; i < VERB_COUNT_; i++) {
		if (is_family(verbs[i].name, argv[0])) {
			*ret_words = 1;
			return &verbs[i];
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
