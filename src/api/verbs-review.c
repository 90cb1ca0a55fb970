/* SPDX-License-Identifier: MIT */
/* Rows of verbs[]: what is staged. */
#include "api/verb-options.h"
#include "api/verb-rows.h"

const struct verb verb_diff = {
	.id = VERB_DIFF,
	.name = "diff",
	.group = GROUP_REVIEW,
	.operands = "[PATH…]",
	.max = VERB_ANY,
	.summary = "show what is staged",
	.details = "A patch that `git apply` takes as it is. On a terminal it is coloured,\n"
		   "goes through a pager ($PALE_PAGER, $GIT_PAGER, $PAGER, else less), and\n"
		   "control characters are shown escaped. Exits with 0, also when there are\n"
		   "changes; see --exit-code.",
	.examples = "pale diff\n"
		    "pale diff --stat src\n"
		    "pale diff | git apply --check",
	.options = options_diff,
};

const struct verb verb_review = {
	.id = VERB_REVIEW,
	.name = "review",
	.group = GROUP_REVIEW,
	.operands = "[PATH…]",
	.max = VERB_ANY,
	.summary = "accept or reject staged changes, one by one",
	.details = "Shows one change at a time; press ? for the keys. Nothing happens until\n"
		   "the end: then, after a question, what you accepted is applied in one\n"
		   "step, and what you rejected is thrown away or stays staged, as you say.\n"
		   "`pale undo` takes either back. When you quit before, your decisions are\n"
		   "kept for the next time.",
	.options = options_review,
};

const struct verb verb_apply = {
	.id = VERB_APPLY,
	.name = "apply",
	.group = GROUP_REVIEW,
	.operands = "[PATH…]",
	.max = VERB_ANY,
	.summary = "write staged changes to the workspace",
	.details = "Everything that is staged, or what is at and below each PATH. All of it\n"
		   "happens or none, and `pale undo` takes it back. Protected files stay\n"
		   "staged unless they are named with --include-protected. So does what you\n"
		   "have changed yourself meanwhile, unless both changes can be merged; then\n"
		   "the exit status is 1.",
	.examples = "pale apply\n"
		    "pale apply src --hunk README.md:2\n"
		    "pale apply .envrc --include-protected .envrc",
	.options = options_apply,
};

const struct verb verb_discard = {
	.id = VERB_DISCARD,
	.name = "discard",
	.group = GROUP_REVIEW,
	.operands = "[PATH…]",
	.max = VERB_ANY,
	.summary = "throw staged changes away",
	.details = "Without a PATH it is about everything that is staged, and asks; where\n"
		   "there is no terminal --all is needed. `pale undo` takes it back.",
	.options = options_discard,
};

const struct verb verb_undo = {
	.id = VERB_UNDO,
	.name = "undo",
	.group = GROUP_REVIEW,
	.operands = "[APPLY]",
	.max = 1,
	.summary = "take back an apply or a discard",
	.details = "APPLY is the name that `pale apply` printed; without it, the last one\n"
		   "that was not taken back. Files are restored exactly, and what was\n"
		   "applied is staged again. A file that has changed since is left alone;\n"
		   "then the exit status is 1.",
	.options = options_undo,
};

const struct verb verb_stages_list = {
	.id = VERB_STAGES_LIST,
	.name = "stages list",
	.group = GROUP_REVIEW,
	.operands = "",
	.summary = "list the stages of this workspace",
	.details = "A stage stays until it is applied, discarded or removed.",
	.options = options_stages_list,
};

const struct verb verb_stages_rm = {
	.id = VERB_STAGES_RM,
	.name = "stages rm",
	.group = GROUP_REVIEW,
	.operands = "NAME…",
	.min = 1,
	.max = VERB_ANY,
	.summary = "remove a stage",
	.details = "One that still holds changes is removed with --force only, and then\n"
		   "there is no undo; `pale discard --stage NAME` has one.",
	.options = options_stages_rm,
};
