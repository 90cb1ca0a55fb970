/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/completions.h"
#include "policy/resolve.h"

/* In single quotes, as fish has them. */
static int put_quoted(struct str *out, const char *text, size_t len)
{
	int r = str_append_char(out, '\'');

	for (size_t i = 0; r == 0 && i < len; i++) {
		if (text[i] == '\'' || text[i] == '\\')
			r = str_append_char(out, '\\');
		if (r == 0)
			r = str_append_char(out, text[i]);
	}
	return r < 0 ? r : str_append_char(out, '\'');
}

/* "complete -c pale -n CONDITION", true when the command line is about VERB. */
static int put_condition(struct str *out, const struct verb *verb)
{
	const char *sub = strchr(verb->name, ' ');

	if (!sub)
		return str_appendf(out, "complete -c pale -n '__fish_seen_subcommand_from %s'",
				   verb->name);
	return str_appendf(out,
			   "complete -c pale -n '__fish_seen_subcommand_from %.*s; "
			   "and __fish_seen_subcommand_from %s'",
			   (int)(sub - verb->name), verb->name, sub + 1);
}

static int put_first_word(struct str *out, const struct verb *verb)
{
	size_t len = strcspn(verb->name, " ");
	int r = str_appendf(out, "complete -c pale -n __fish_use_subcommand -a %.*s", (int)len,
			    verb->name);

	if (r == 0 && !verb->name[len]) {
		r = str_append(out, " -d ");
		if (r == 0)
			r = put_quoted(out, verb->summary, strlen(verb->summary));
	}
	return r < 0 ? r : str_append_char(out, '\n');
}

static int put_second_word(struct str *out, const struct verb *verb)
{
	size_t len = strcspn(verb->name, " ");
	int r = str_appendf(out,
			    "complete -c pale -n '__fish_seen_subcommand_from %.*s; "
			    "and not __fish_seen_subcommand_from",
			    (int)len, verb->name);

	if (r == 0)
		r = put_verb_words(out, verb);
	if (r == 0)
		r = str_appendf(out, "' -a %s -d ", verb->name + len + 1);
	if (r == 0)
		r = put_quoted(out, verb->summary, strlen(verb->summary));
	return r < 0 ? r : str_append_char(out, '\n');
}

static const char sessions[] = " -a '(command pale session list --names 2>/dev/null)'";

static int put_option(struct str *out, const struct verb *verb, const struct opt *opt)
{
	_cleanup_(str_release) struct str words = {0};
	const char *const *choices = verb_option_choices(opt);
	int r = put_condition(out, verb);

	if (r == 0)
		r = str_appendf(out, " -l %s", opt->name);
	if (r == 0 && opt->letter)
		r = str_appendf(out, " -s %c", opt->letter);
	if (r == 0 && opt->metavar)
		r = str_append(out, option_takes_file(opt) ? " -r -F" : " -x");
	if (r == 0 && choices)
		r = put_words(&words, choices);
	if (r == 0 && choices)
		r = str_append(out, " -a ");
	if (r == 0 && choices)
		r = put_quoted(out, words.data + 1, words.len - 1);
	if (r == 0 && opt->id == OPT_SESSION)
		r = str_append(out, sessions);
	if (r == 0)
		r = str_append(out, " -d ");
	if (r == 0)
		r = put_quoted(out, opt->help, strlen(opt->help));
	return r < 0 ? r : str_append_char(out, '\n');
}

static int put_operand(struct str *out, enum verb_id id)
{
	static const char names[] = " -a '(command pale commands list --names 2>/dev/null)'\n";
	_cleanup_(str_release) struct str words = {0};
	enum operand operand = verb_operand(id);
	int r = 0;

	if (operand == OPERAND_NONE)
		return 0;
	if (operand == OPERAND_COMMAND || operand == OPERAND_SANDBOX) {
		r = put_condition(out, verbs[id]);
		if (r == 0)
			r = str_append(out, names);
	}
	if (operand == OPERAND_SESSION) {
		r = put_condition(out, verbs[id]);
		return r < 0 ? r : str_appendf(out, "%s\n", sessions);
	}
	if (r == 0 && operand == OPERAND_SANDBOX)
		r = put_words(&words, preset_names);
	else if (r == 0 && operand == OPERAND_SHELL)
		r = put_words(&words, completion_shells());
	else if (r == 0 && operand == OPERAND_VERB)
		r = put_verb_words(&words, NULL);
	if (r < 0 || operand == OPERAND_COMMAND)
		return r;
	r = put_condition(out, verbs[id]);
	if (r == 0)
		r = words.len ? str_appendf(out, " -a '%s'\n", words.data + 1)
			      : str_append(out, " -F\n");
	return r;
}

int completions_fish(struct str *out)
{
	int r = str_append(out, "# fish completion for pale, made by: pale completions fish\n"
				"complete -c pale -f\n");

	for (int i = 0; r == 0 && i < VERB_COUNT_; i++) {
		struct opt_table table = verbs[i]->options();

		if (i == 0 || !verb_is_kin(verbs[i - 1], verbs[i]))
			r = put_first_word(out, verbs[i]);
		if (r == 0 && strchr(verbs[i]->name, ' '))
			r = put_second_word(out, verbs[i]);
		for (size_t j = 0; r == 0 && j < table.len; j++)
			r = put_option(out, verbs[i], &table.items[j]);
		if (r == 0)
			r = put_operand(out, i);
	}
	return r;
}
