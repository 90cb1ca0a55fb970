/* SPDX-License-Identifier: MIT */
/* Rows of verbs[]: what commands may do. */
#include "api/verb-options.h"
#include "api/verb-rows.h"

const struct verb verb_sandbox_list = {
	.id = VERB_SANDBOX_LIST,
	.name = "sandbox list",
	.group = GROUP_POLICY,
	.operands = "",
	.summary = "list what every command may do",
	.details = "WORLD says how far a command reaches: sealed, pinhole, scoped, broad\n"
		   "or open. CEILING is the most that its effects can amount to: 2, 4, 7\n"
		   "or 8. Both follow from the policy; `pale run --explain` grades what is\n"
		   "enforced on this machine.",
	.options = options_data,
};

const struct verb verb_sandbox_inspect = {
	.id = VERB_SANDBOX_INSPECT,
	.name = "sandbox inspect",
	.group = GROUP_POLICY,
	.operands = "(NAME | PRESET)",
	.min = 1,
	.max = 1,
	.summary = "show one sandbox, value by value",
	.details = "A registered command comes before a preset of the same name.",
	.options = options_sandbox_inspect,
};

const struct verb verb_sandbox_profile = {
	.id = VERB_SANDBOX_PROFILE,
	.name = "sandbox profile",
	.group = GROUP_POLICY,
	.operands = "(NAME | -- CMD [ARGS…])",
	.min = 1,
	.max = VERB_ANY,
	.summary = "run a command once and show what it uses",
	.details = "It runs in its own sandbox, with all of its writes in a stage that is\n"
		   "thrown away: nothing stays, and nothing is open that is not open to it\n"
		   "anyway. What it read, wrote, executed and connected to is printed, and\n"
		   "kept for `pale sandbox suggest`. Its output goes to standard error.\n"
		   "\n"
		   "Exits with 0 when the command succeeded, else with 1.",
	.examples = "pale sandbox profile test\n"
		    "pale sandbox profile --read /srv/data import\n"
		    "pale sandbox profile -- make -j4",
	.options = options_sandbox_profile,
};

const struct verb verb_sandbox_suggest = {
	.id = VERB_SANDBOX_SUGGEST,
	.name = "sandbox suggest",
	.group = GROUP_POLICY,
	.operands = "NAME",
	.min = 1,
	.max = 1,
	.summary = "make a sandbox from what a command uses",
	.details = "From its profile, which is made first where there is none, and from its\n"
		   "history. The command is run once more under the suggestion, again with\n"
		   "nothing kept; one that does not let it work is not offered. Nothing is\n"
		   "opened that was closed to the profiled run, but for caches, which are\n"
		   "folders of the project's own.",
	.options = options_sandbox_suggest,
};

const struct verb verb_sandbox_tighten = {
	.id = VERB_SANDBOX_TIGHTEN,
	.name = "sandbox tighten",
	.group = GROUP_POLICY,
	.operands = "(NAME… | --all)",
	.max = VERB_ANY,
	.summary = "narrow the limits of commands to what they used",
	.details = "After three successful runs: twice the peak of memory and CPU time,\n"
		   "three times the longest duration, at least 64m, 5s and 10s. No limit\n"
		   "becomes looser. pale.toml is changed, the rest of it stays as it is.",
	.options = options_sandbox_tighten,
};

const struct verb verb_config_show = {
	.id = VERB_CONFIG_SHOW,
	.name = "config show",
	.group = GROUP_POLICY,
	.operands = "",
	.summary = "show the settings of all files together",
	.options = options_config_show,
};

const struct verb verb_config_check = {
	.id = VERB_CONFIG_CHECK,
	.name = "config check",
	.group = GROUP_POLICY,
	.operands = "[FILE]",
	.max = 1,
	.summary = "check the configuration, or one FILE of it",
	.details = "For CI: exits with 0 when all is well, with 1 when not. FILE is\n"
		   "checked as a workspace's pale.toml.",
	.options = options_data,
};

const struct verb verb_config_keys = {
	.id = VERB_CONFIG_KEYS,
	.name = "config keys",
	.group = GROUP_POLICY,
	.operands = "",
	.summary = "list every key that a pale.toml may hold",
	.options = options_json,
};

const struct verb verb_trust = {
	.id = VERB_TRUST,
	.name = "trust",
	.group = GROUP_POLICY,
	.operands = "",
	.summary = "allow what this workspace asks beyond the ceiling",
	.details = "A workspace's pale.toml may not open the network, reach outside the\n"
		   "workspace, pass variables or show processes until you agree. The\n"
		   "values are shown, and your answer holds for exactly these: a change to\n"
		   "one of them asks again.",
	.options = options_trust,
};

const struct verb verb_allow = {
	.id = VERB_ALLOW,
	.name = "allow",
	.group = GROUP_POLICY,
	.operands = "[RUN] [N]",
	.max = 2,
	.summary = "write the rule that a refused attempt needed",
	.details = "The smallest rule under which number N of `pale why RUN` would have\n"
		   "passed, in the sandbox of the command that was run. Shows first what\n"
		   "is written and what it opens, and asks. Credentials, a whole home and\n"
		   "pale's own files are never opened this way, and ceilings hold.\n"
		   "\n"
		   "Without RUN it is about the last run; without N there must be one\n"
		   "number only.",
	.examples = "pale allow --project\n"
		    "pale allow 2 --project --dry-run",
	.options = options_allow,
};
