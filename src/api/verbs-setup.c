/* SPDX-License-Identifier: MIT */
/* Rows of verbs[]: pale itself. */
#include "api/verb-options.h"
#include "api/verb-rows.h"

const struct verb verb_status = {
	.id = VERB_STATUS,
	.name = "status",
	.group = GROUP_SETUP,
	.operands = "",
	.summary = "show what would be enforced here, and by what",
	.details = "Every dimension, also those that the sandbox leaves open: then what\n"
		   "holding them would rest on. Nothing is started or tried; whether this\n"
		   "machine really lets pale do it, `pale doctor` finds out.\n"
		   "\n"
		   "Exits with 1 when a command would be refused here.",
	.examples = "pale status\n"
		    "pale status --preset build",
	.options = options_status,
};

const struct verb verb_doctor = {
	.id = VERB_DOCTOR,
	.name = "doctor",
	.group = GROUP_SETUP,
	.operands = "",
	.summary = "find what this machine lacks, and how to mend it",
	.details = "Looks at the kernel and its settings, and tries the namespaces in a\n"
		   "process that ends at once. What is weak or missing is told with what\n"
		   "it costs and the command that mends it; no command is executed.\n"
		   "\n"
		   "Exits with 0 when everything works that a command in this workspace\n"
		   "needs, else with 1.",
	.options = options_data,
};

const struct verb verb_init = {
	.id = VERB_INIT,
	.name = "init",
	.group = GROUP_SETUP,
	.operands = "",
	.summary = "write a pale.toml for this workspace",
	.details = "With --detect, commands are taken from Makefile, CMakeLists.txt,\n"
		   "meson.build, package.json, Cargo.toml, go.mod, pyproject.toml,\n"
		   "pytest.ini, setup.cfg and tox.ini; nothing of them is executed. An\n"
		   "existing pale.toml then only gains the commands that it lacks.",
	.options = options_init,
};

const struct verb verb_completions = {
	.id = VERB_COMPLETIONS,
	.name = "completions",
	.group = GROUP_SETUP,
	.operands = "(bash | zsh | fish)",
	.min = 1,
	.max = 1,
	.summary = "print a completion script for a shell",
	.examples = "source <(pale completions bash)",
	.options = options_help,
};

const struct verb verb_version = {
	.id = VERB_VERSION,
	.name = "version",
	.group = GROUP_SETUP,
	.operands = "",
	.summary = "print the version",
	.options = options_json,
};

const struct verb verb_help = {
	.id = VERB_HELP,
	.name = "help",
	.group = GROUP_SETUP,
	.operands = "[VERB]",
	.max = 2,
	.summary = "explain pale, or one verb of it",
	.options = options_json,
};
