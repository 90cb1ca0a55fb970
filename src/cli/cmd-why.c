/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/why.h"

/* What comes from outside is escaped. */
static int put(struct str *out, const char *before, const char *text, const char *after)
{
	int r = str_append(out, before);

	if (r == 0)
		r = str_append_escaped(out, text, strlen(text));
	return r < 0 ? r : str_append(out, after);
}

static const char *name_of(const struct run_record *record)
{
	if (record->command)
		return record->command;
	return record->program ? record->program : "?";
}

static int put_head(const struct why *why, struct str *out)
{
	const struct explanation *explanation = &why->explanation;
	int r = str_appendf(out, "%s  ", why->record.id);

	if (r == 0)
		r = put(out, "", name_of(&why->record), ": ");
	if (r == 0)
		r = put(out, "", explanation->how, ".\n");
	if (r == 0 && explanation->hint)
		r = put(out, "  see: ", explanation->hint, "\n");
	return r;
}

/* As it can be typed. */
static int put_command(const struct why *why, const char *fix, struct str *out)
{
	const char *command = why->record.command ? why->record.command : "…";
	int r = str_append(out, "     to allow it: ");

	if (str_starts(fix, "pale "))
		return r < 0 ? r : put(out, "", fix, "");
	if (r == 0)
		r = put(out, "pale run ", fix, " ");
	return r < 0 ? r : put(out, "", command, "");
}

/* How it could pass, or why not. */
static int put_fix(const struct why *why, const struct cause *cause, size_t number, struct str *out)
{
	const struct remedy *remedy = &cause->remedy;
	const char *guess = violation_guess(cause->dimension, cause->op, cause->fix);
	int r = 0;

	if (cause->fix)
		r = put_command(why, cause->fix, out);
	if (r == 0 && cause->fix)
		r = str_appendf(out, "%s\n", guess);
	if (r == 0 && !cause->fix && remedy->allowed)
		return str_append(out, "     today's policy allows it\n");
	if (r == 0 && !remedy->possible)
		return cause->fix ? 0 : put(out, "     not to be allowed: ", remedy->why, "\n");
	/* Under the policy of today it may take another rule than it would have then. */
	if (r == 0 && (!cause->fix || strstr(cause->fix, remedy->option)))
		r = put(out, "     what that opens: ", remedy->opens, "\n");
	if (r == 0 && remedy->value && why->record.command)
		r = str_appendf(out, "     for good: pale allow %s %zu --project\n", why->record.id,
				number);
	return r;
}

static int put_cause(const struct why *why, size_t i, struct str *out)
{
	const struct cause *cause = &why->explanation.causes[i];
	int r = str_appendf(out, "\n%3zu. ", i + 1);

	if (r == 0)
		r = put(out, "", cause->what, "");
	if (r == 0 && cause->count > 1)
		r = str_appendf(out, ", %llu times", (unsigned long long)cause->count);
	if (r == 0)
		r = str_append_char(out, '\n');
	if (r == 0 && cause->rule)
		r = put(out, "     refused by: ", cause->rule, "\n");
	return r < 0 ? r : put_fix(why, cause, i + 1, out);
}

static bool was_executed(const struct run_record *record)
{
	return !record->ended ||
	       (record->outcome != OUTCOME_REFUSED && record->outcome != OUTCOME_ERROR);
}

/* Nothing seen, nothing watched and nothing refused are different things. */
static int put_silence(const struct why *why, struct str *out)
{
	const struct run_record *record = &why->record;
	const struct explanation *explanation = &why->explanation;

	if (!was_executed(record) || !record->ended)
		return 0;
	if (!explanation->observed)
		return str_append(out, "Nobody watched this run: what was refused is not known.\n");
	if (explanation->len > 0)
		return 0;
	if (record->outcome == OUTCOME_OK)
		return str_append(out, "Nothing was refused.\n");
	return str_append(out,
			  "Nothing that is watched was refused: no write, connection or call.\n"
			  "Reads are not watched: what is not shown inside looks absent. "
			  "`pale run --explain`\nprints what is shown, `pale sandbox profile` "
			  "watches reads. Nor is what takes\nprivileges, which nobody has inside: "
			  "set-uid programs, raw sockets, ports below\n1024, other users' files. "
			  "Nor is a full /tmp or disk; nor, without a cgroup, the\nlimit of pids. "
			  "Or the reason is the command's own.\n");
}

static int put_all(const struct why *why, struct str *out)
{
	const struct explanation *explanation = &why->explanation;
	int r = put_head(why, out);

	for (size_t i = 0; i < explanation->notes.len && r == 0; i++)
		r = put(out, "  note: ", explanation->notes.items[i], "\n");
	if (r == 0 && why->config_err.message[0])
		r = put(out, "  note: today's policy is not known: ", why->config_err.message,
			"\n");
	if (r == 0)
		r = put_silence(why, out);
	if (r == 0 && explanation->len > 0)
		r = str_append(out, "It was not allowed to\n");
	for (size_t i = 0; i < explanation->len && r == 0; i++)
		r = put_cause(why, i, out);
	if (r == 0 && explanation->dropped > 0)
		r = str_appendf(out, "\n%llu further attempt%s found no room here.\n",
				(unsigned long long)explanation->dropped,
				explanation->dropped == 1 ? "" : "s");
	if (r == 0 && why->annotations.len > 0)
		r = str_appendf(out, "\n%s", str_text(&why->annotations));
	return r;
}

static int show_json(const struct why *why)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};
	const struct run_record *record = &why->record;

	json_begin_object(&json, NULL);
	json_add_string(&json, "run", record->id);
	json_add_string(&json, "command", record->command);
	json_add_string(&json, "program", record->program);
	json_add_string(&json, "outcome", run_record_state(record));
	json_add_string(&json, "limit", record->limit);
	json_add_string(&json, "error", record->error);
	explanation_json(&why->explanation, &json);
	json_end_object(&json);
	return emit_json(&json);
}

int cmd_why(int argc, char **argv)
{
	_cleanup_(why_release) struct why why = {0};
	_cleanup_(str_release) struct str out = {0};
	struct args args;
	struct err err = {0};
	int r = args_parse(VERB_WHY, argc, argv, &args, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = why_load(args.values[OPT_WORKSPACE], args.len ? args.operands[0] : NULL, &why,
			     &err);
	if (r < 0)
		return report(&err);
	if (args.values[OPT_JSON])
		return show_json(&why);
	return put_all(&why, &out) < 0 ? report_oom() : emit(&out);
}
