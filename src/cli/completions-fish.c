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

/* Names that pale prints. */
static int put_source(struct str *out, enum operand operand)
{
	const char *source = operand_source(operand);

	return source ? str_appendf(out, " -a '(command pale %s 2>/dev/null)'", source) : 0;
}

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
		r = str_append(out, option_operand(opt) == OPERAND_FILE ? " -r -F" : " -x");
	if (r == 0 && choices)
		r = put_words(&words, choices);
	if (r == 0 && choices)
		r = str_append(out, " -a ");
	if (r == 0 && choices)
		r = put_quoted(out, words.data + 1, words.len - 1);
	if (r == 0 && opt->metavar)
		r = put_source(out, option_operand(opt));
	if (r == 0)
		r = str_append(out, " -d ");
	if (r == 0)
		r = put_quoted(out, opt->help, strlen(opt->help));
	return r < 0 ? r : str_append_char(out, '\n');
}

static int put_operand(struct str *out, enum verb_id id)
{
	_cleanup_(str_release) struct str words = {0};
	enum operand operand = verb_operand(id);
	int r = 0;

	if (operand == OPERAND_NONE)
		return 0;
	if (operand_source(operand)) {
		r = put_condition(out, verbs[id]);
		if (r == 0)
			r = put_source(out, operand);
		if (r == 0)
			r = str_append_char(out, '\n');
	}
	if (r < 0 || (operand_source(operand) && operand != OPERAND_SANDBOX))
		return r;
	if (operand == OPERAND_SANDBOX)
		r = put_words(&words, preset_names);
	else if (operand == OPERAND_SHELL)
		r = put_words(&words, completion_shells());
	else if (operand == OPERAND_VERB)
		r = put_verb_words(&words, NULL);
	if (r == 0)
		r = put_condition(out, verbs[id]);
	if (r == 0 && operand == OPERAND_PROGRAM)
		r = str_append(out, " -a '(__fish_complete_subcommand --fcs-skip=2)'\n");
	else if (r == 0)
		r = words.len ? str_appendf(out, " -a '%s'\n", words.data + 1)
			      : str_append(out, " -F\n");
	return r;
}

/* After `--` stands a program, with what belongs to it. */
static const char fish_head[] =
	"# fish completion for pale, made by: pale completions fish\n"
	"complete -c pale -f\n"
	"function __pale_rest\n"
	"\tset -l words (commandline -opc)\n"
	"\tset -l at (contains -i -- -- $words); or return\n"
	"\tset -l rest\n"
	"\tif test $at -lt (count $words)\n"
	"\t\tset rest $words[(math $at + 1)..-1]\n"
	"\tend\n"
	"\tcomplete -C (string join ' ' -- $rest (commandline -ct))\n"
	"end\n"
	"complete -c pale -n 'contains -- -- (commandline -opc)' -a '(__pale_rest)'\n";

int completions_fish(struct str *out)
{
	int r = str_append(out, fish_head);

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
