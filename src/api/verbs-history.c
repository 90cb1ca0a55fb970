/* SPDX-License-Identifier: MIT */
/* Rows of verbs[]: what was run. */
#include "api/verb-options.h"
#include "api/verb-rows.h"

const struct verb verb_why = {
	.id = VERB_WHY,
	.name = "why",
	.group = GROUP_HISTORY,
	.operands = "[RUN]",
	.max = 1,
	.summary = "say what a run was refused, and what would allow it",
	.details = "RUN is an id, or the beginning of one; without it, the last run. What\n"
		   "was refused is what the kernel saw, the likeliest reason first; each\n"
		   "has a number for `pale allow`.",
	.options = options_data,
};

const struct verb verb_runs_list = {
	.id = VERB_RUNS_LIST,
	.name = "runs list",
	.group = GROUP_HISTORY,
	.operands = "",
	.summary = "list what was run here, the newest first",
	.details = "Every run of the workspace is remembered: the command's name, how it\n"
		   "ended, what it used, what was refused. Its arguments are not, unless\n"
		   "[history] store_argv is set, nor is anything that it was given or said.",
	.examples = "pale runs\n"
		    "pale runs --command test --outcome failed --since 2d\n"
		    "pale runs -n 0 --json",
	.options = options_runs_list,
};

const struct verb verb_runs_prune = {
	.id = VERB_RUNS_PRUNE,
	.name = "runs prune",
	.group = GROUP_HISTORY,
	.operands = "",
	.summary = "forget runs that are older than a given time",
	.details = "Their events and kept output go with them. Nothing else removes\n"
		   "runs from the history.",
	.examples = "pale runs prune --older-than 30d --dry-run",
	.options = options_runs_prune,
};

const struct verb verb_show = {
	.id = VERB_SHOW,
	.name = "show",
	.group = GROUP_HISTORY,
	.operands = "[RUN]",
	.max = 1,
	.summary = "show one run: how it ended, what was refused",
	.details =
		"RUN is an id as pale runs lists them, the beginning of one, or `last`, which is\n"
		"meant when it is left out.",
	.examples = "pale show\n"
		    "pale show last --output",
	.options = options_show,
};

const struct verb verb_events_list = {
	.id = VERB_EVENTS_LIST,
	.name = "events list",
	.group = GROUP_HISTORY,
	.operands = "",
	.summary = "list what happened: starts, ends, refusals, applies",
	.examples = "pale events --kind sandbox.denied --since 1h\n"
		    "pale events --run last\n"
		    "pale events --follow --json",
	.options = options_events_list,
};

const struct verb verb_events_annotate = {
	.id = VERB_EVENTS_ANNOTATE,
	.name = "events annotate",
	.group = GROUP_HISTORY,
	.operands = "",
	.summary = "let annotators look at events that they have not seen",
	.details = "Annotators are programs in the folder annotators beside your own\n"
		   "pale.toml, never of a workspace. Those that are eager have looked before;\n"
		   "one that failed is asked again.",
	.examples = "pale events annotate --run last",
	.options = options_events_annotate,
};
