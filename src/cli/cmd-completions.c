/* SPDX-License-Identifier: MIT */
/*
 * Completion scripts, out of the tables of verbs and options. Names of
 * registered commands are asked for at completion time; a name is data that a
 * workspace chose, so no script ever expands it.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/completions.h"

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

const char *const *completion_shells(void)
{
	return shells;
}

enum operand verb_operand(enum verb_id id)
{
	switch ((int)id) {
	case VERB_RUN:
	case VERB_CHECK:
	case VERB_COMMANDS_SHOW:
	case VERB_COMMANDS_UNREGISTER:
	case VERB_SANDBOX_PROFILE:
	case VERB_SANDBOX_SUGGEST:
	case VERB_SANDBOX_TIGHTEN:
		return OPERAND_COMMAND;
	case VERB_SANDBOX_INSPECT:
		return OPERAND_SANDBOX;
	case VERB_SESSION_STOP:
	case VERB_SESSION_RM:
	case VERB_SESSION_NETWORK:
		return OPERAND_SESSION;
	case VERB_SHOW:
	case VERB_WHY:
	case VERB_ALLOW:
	case VERB_OUTPUT:
	case VERB_SIGNAL:
	case VERB_WAIT:
		return OPERAND_RUN;
	case VERB_STAGES_RM:
		return OPERAND_STAGE;
	case VERB_CONFIG_CHECK:
	case VERB_DIFF:
	case VERB_REVIEW:
	case VERB_APPLY:
	case VERB_DISCARD:
	case VERB_FILE_READ:
	case VERB_FILE_WRITE:
	case VERB_FILE_EDIT:
	case VERB_FILE_GREP:
		return OPERAND_FILE;
	case VERB_EXEC:
		return OPERAND_PROGRAM;
	case VERB_COMPLETIONS:
		return OPERAND_SHELL;
	case VERB_HELP:
		return OPERAND_VERB;
	default:
		return OPERAND_NONE;
	}
}

enum operand option_operand(const struct opt *opt)
{
	switch (opt->id) {
	case OPT_COMMAND:
		return OPERAND_COMMAND;
	case OPT_SESSION:
		return OPERAND_SESSION;
	case OPT_RUN:
		return OPERAND_RUN;
	case OPT_STAGE:
		return OPERAND_STAGE;
	default:
		return str_eq(opt->metavar, "DIR") || str_eq(opt->metavar, "FILE") ||
				       str_eq(opt->metavar, "PATH")
			       ? OPERAND_FILE
			       : OPERAND_NONE;
	}
}

const char *operand_source(enum operand operand)
{
	switch ((int)operand) {
	case OPERAND_COMMAND:
	case OPERAND_SANDBOX:
		return "commands list --names";
	case OPERAND_SESSION:
		return "session list --names";
	case OPERAND_RUN:
		return "runs list --ids";
	case OPERAND_STAGE:
		return "stages list --names";
	default:
		return NULL;
	}
}

int put_words(struct str *out, const char *const *words)
{
	int r = 0;

	for (size_t i = 0; r == 0 && words[i]; i++)
		r = str_appendf(out, " %s", words[i]);
	return r;
}

int put_verb_words(struct str *out, const struct verb *family)
{
	int r = 0;

	for (int i = 0; r == 0 && i < VERB_COUNT_; i++) {
		const char *name = verbs[i]->name;
		size_t len = strcspn(name, " ");

		if (family && verb_is_kin(family, verbs[i]))
			r = str_appendf(out, " %s", name + len + 1);
		else if (!family && (i == 0 || !verb_is_kin(verbs[i - 1], verbs[i])))
			r = str_appendf(out, " %.*s", (int)len, name);
	}
	return r;
}

bool verb_heads_family(enum verb_id id)
{
	return strchr(verbs[id]->name, ' ') && (id == 0 || !verb_is_kin(verbs[id - 1], verbs[id]));
}

int cmd_completions(int argc, char **argv)
{
	_cleanup_(str_release) struct str out = {0};
	struct args args;
	struct err err = {0};
	int r = args_parse(VERB_COMPLETIONS, argc, argv, &args, &err);

	if (r > 0)
		return STATUS_OK;
	if (r < 0)
		return report(&err);
	if (str_eq(args.operands[0], "fish")) {
		r = completions_fish(&out);
	} else if (str_eq(args.operands[0], "bash") || str_eq(args.operands[0], "zsh")) {
		r = completions_sh(&out, args.operands[0]);
	} else {
		r = err_set(&err, ERR_USAGE, -EINVAL, "completions: no shell '%s'",
			    args.operands[0]);
		err_hint(&err, r, "bash, zsh or fish");
		return report(&err);
	}
	return r < 0 ? report_oom() : emit(&out);
}
