/* SPDX-License-Identifier: MIT */
/* bash and zsh: a few functions that differ, and a body that does not. */
#include "base/cleanup.h"
#include "base/str.h"
#include "cli/completions.h"
#include "policy/resolve.h"

static const char bash_head[] =
	"# bash completion for pale, made by: pale completions bash\n"
	"_pale_words() {\n"
	"\tlocal word\n"
	"\tfor word in \"$@\"; do\n"
	"\t\t[[ $word == \"$cur\"* ]] && COMPREPLY+=(\"$word\")\n"
	"\tdone\n"
	"}\n"
	"_pale_files() {\n"
	"\tlocal file\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\twhile IFS= read -r file; do COMPREPLY+=(\"$file\"); done < <(compgen -f -- \"$cur\")\n"
	"}\n"
	"_pale_programs() {\n"
	"\tlocal program\n"
	"\twhile IFS= read -r program; do COMPREPLY+=(\"$program\"); done < <(compgen -c -- \"$cur\")\n"
	"}\n";

static const char bash_start[] =
	"_pale() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"\tlocal verb=${COMP_WORDS[1]} sub=${COMP_WORDS[2]:-} at=$COMP_CWORD dashes\n"
	"\tCOMPREPLY=()\n"
	"\tdashes=0\n"
	"\tlocal i\n"
	"\tfor ((i = 2; i < at; i++)); do\n"
	"\t\t[[ ${COMP_WORDS[i]} == -- ]] && { dashes=$i; break; }\n"
	"\tdone\n"
	/* --network=none is three words to bash */
	"\tif ((at > 2 && dashes == 0)) && [[ $prev == = || $cur == = ]]; then\n"
	"\t\t[[ $prev == = ]] && prev=${COMP_WORDS[at - 2]}\n"
	"\t\t[[ $cur == = ]] && cur=\n"
	"\tfi\n";
static const char bash_before[] = "\tlocal before=(\"${COMP_WORDS[@]:2:at-2}\")\n";

static const char zsh_head[] = "#compdef pale\n"
			       "# zsh completion for pale, made by: pale completions zsh\n"
			       "_pale_words() { compadd -- \"$@\"; }\n"
			       "_pale_files() { _files; }\n"
			       "_pale_programs() { _command_names; }\n";

static const char zsh_start[] =
	"_pale() {\n"
	"\tlocal cur=${words[CURRENT]} prev=${words[CURRENT-1]}\n"
	"\tlocal verb=${words[2]} sub=${words[3]:-} at=$((CURRENT - 1)) dashes\n"
	"\tdashes=${words[(I)--]}\n"
	"\t((dashes = dashes > 0 && dashes < CURRENT ? dashes - 1 : 0))\n"
	"\tif ((dashes == 0)) && [[ $cur == --*=* ]]; then\n"
	"\t\tprev=${cur%%=*} cur=${cur#*=}\n"
	"\t\tcompset -P '*='\n"
	"\tfi\n";

static const char zsh_before[] = "\tlocal before=(\"${(@)words[3,CURRENT-1]}\")\n";

static const char names[] =
	"_pale_list() {\n"
	"\tlocal name\n"
	"\twhile IFS= read -r name; do\n"
	"\t\t[[ $name =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] && _pale_words \"$name\"\n"
	"\tdone < <(command pale \"$@\" 2>/dev/null)\n"
	"}\n";

static const char bash_end[] = "}\ncomplete -F _pale pale\n";
static const char zsh_end[] = "}\n"
			      "if [[ ${funcstack[1]} == _pale ]]; then\n"
			      "\t_pale \"$@\"\n"
			      "else\n"
			      "\tcompdef _pale pale\n"
			      "fi\n";

/* Which verb it is, and the words that make it up. */
static int put_verbs(struct str *out)
{
	int r = str_append(out, "\tif ((at == 1)); then\n\t\t_pale_words");

	if (r == 0)
		r = put_verb_words(out, NULL);
	if (r == 0)
		r = str_append(out, "\n\t\treturn\n\tfi\n\tcase $verb in\n");
	for (int i = 0; r == 0 && i < VERB_COUNT_; i++) {
		const char *name = verbs[i]->name;
		int len = 0;

		if (!verb_heads_family(i))
			continue;
		while (name[len] != ' ')
			len++;
		r = str_appendf(out,
				"\t%.*s)\n\t\tif ((at == 2)) && [[ $cur != -* ]]; then\n"
				"\t\t\t_pale_words",
				len, name);
		if (r == 0)
			r = put_verb_words(out, verbs[i]);
		if (r == 0)
			r = str_appendf(out,
					"\n\t\t\treturn\n\t\tfi\n"
					"\t\t[[ -z $sub || $sub == -* ]] && sub=%s\n"
					"\t\tverb=\"$verb $sub\"\n\t\t;;\n",
					name + len + 1);
	}
	return r < 0 ? r : str_append(out, "\tesac\n");
}

/* What asks for files, or for names that pale prints. */
static int put_asking(struct str *out, enum operand operand)
{
	if (operand == OPERAND_FILE)
		return str_append(out, "_pale_files");
	return operand_source(operand) ? str_appendf(out, "_pale_list %s", operand_source(operand))
				       : str_append_char(out, ':');
}

static int put_value(struct str *out, const struct verb *verb, const struct opt *opt)
{
	const char *const *choices = verb_option_choices(opt);
	int r = str_appendf(out, "\t'%s --%s'", verb->name, opt->name);

	if (r == 0 && opt->letter)
		r = str_appendf(out, "|'%s -%c'", verb->name, opt->letter);
	if (r == 0)
		r = str_append_char(out, ')');

	if (r == 0 && choices) {
		r = str_append(out, " _pale_words");
		if (r == 0)
			r = put_words(out, choices);
	} else if (r == 0) {
		r = str_append_char(out, ' ');
		if (r == 0)
			r = put_asking(out, option_operand(opt));
	}
	return r < 0 ? r : str_append(out, "; return ;;\n");
}

static int put_values(struct str *out)
{
	int r = str_append(out, "\tcase \"$verb $prev\" in\n");

	for (int i = 0; r == 0 && i < VERB_COUNT_; i++) {
		struct opt_table table = verbs[i]->options();

		for (size_t j = 0; r == 0 && j < table.len; j++)
			if (table.items[j].metavar)
				r = put_value(out, verbs[i], &table.items[j]);
	}
	return r < 0 ? r : str_append(out, "\tesac\n");
}

static int put_options(struct str *out)
{
	int r = str_append(out, "\tif [[ $cur == -* ]]; then\n\t\tcase $verb in\n");

	for (int i = 0; r == 0 && i < VERB_COUNT_; i++) {
		struct opt_table table = verbs[i]->options();

		r = str_appendf(out, "\t\t'%s') _pale_words", verbs[i]->name);
		for (size_t j = 0; r == 0 && j < table.len; j++)
			r = str_appendf(out, " --%s", table.items[j].name);
		if (r == 0)
			r = str_append(out, " ;;\n");
	}
	return r < 0 ? r : str_append(out, "\t\tesac\n\t\treturn\n\tfi\n");
}

/* After NAME come arguments of its own. `skip` is set behind an option that takes a value. */
static int put_run(struct str *out)
{
	struct opt_table table = verbs[VERB_RUN]->options();
	int r = str_append(
		out,
		"\t'run')\n\t\tlocal word skip= name=\n"
		"\t\tfor word in \"${before[@]}\"; do\n"
		"\t\t\tif [[ -n $skip ]]; then\n\t\t\t\t[[ $word == = ]] || skip=\n\t\t\t\tcontinue\n"
		"\t\t\tfi\n\t\t\tcase $word in\n\t\t\t");

	for (size_t i = 0; r == 0 && i < table.len; i++)
		if (table.items[i].metavar)
			r = str_appendf(out, "--%s|", table.items[i].name);
	if (r == 0)
		r = str_append(out, "=) skip=1 ;;\n\t\t\t-*) ;;\n\t\t\t*) name=1 ;;\n"
				    "\t\t\tesac\n\t\tdone\n"
				    "\t\tif [[ -n $name ]]; then\n\t\t\t_pale_files\n"
				    "\t\telse\n\t\t\t");
	if (r == 0)
		r = put_asking(out, OPERAND_COMMAND);
	return r < 0 ? r : str_append(out, "\n\t\tfi\n\t\t;;\n");
}

static int put_operand(struct str *out, enum operand operand)
{
	int r = 0;

	switch ((int)operand) {
	case OPERAND_SANDBOX:
		r = put_asking(out, operand);
		if (r == 0)
			r = str_append(out, "; _pale_words");
		return r < 0 ? r : put_words(out, preset_names);
	case OPERAND_PROGRAM:
		return str_append(out, "_pale_programs; _pale_files");
	case OPERAND_SHELL:
		r = str_append(out, "_pale_words");
		return r < 0 ? r : put_words(out, completion_shells());
	case OPERAND_VERB:
		r = str_append(out, "_pale_words");
		return r < 0 ? r : put_verb_words(out, NULL);
	default:
		return put_asking(out, operand);
	}
}

static int put_operands(struct str *out)
{
	int r = str_append(out, "\tcase $verb in\n");

	for (int i = 0; r == 0 && i < VERB_COUNT_; i++) {
		if (i == VERB_RUN)
			r = put_run(out);
		if (i == VERB_RUN || verb_operand(i) == OPERAND_NONE)
			continue;
		r = str_appendf(out, "\t'%s') ", verbs[i]->name);
		if (r == 0)
			r = put_operand(out, verb_operand(i));
		if (r == 0)
			r = str_append(out, " ;;\n");
	}
	return r < 0 ? r : str_append(out, "\tesac\n");
}

/* After `--` stands a program. */
static const char after_dashes[] = "\tif ((dashes > 0)); then\n"
				   "\t\tif ((at == dashes + 1)); then\n"
				   "\t\t\t_pale_programs\n"
				   "\t\telse\n"
				   "\t\t\t_pale_files\n"
				   "\t\tfi\n"
				   "\t\treturn\n"
				   "\tfi\n";

int completions_sh(struct str *out, const char *shell)
{
	bool zsh = str_eq(shell, "zsh");
	int r = str_append(out, zsh ? zsh_head : bash_head);

	if (r == 0)
		r = str_append(out, names);
	if (r == 0)
		r = str_append(out, zsh ? zsh_start : bash_start);
	if (r == 0)
		r = put_verbs(out);
	if (r == 0)
		r = str_append(out, zsh ? zsh_before : bash_before);
	if (r == 0)
		r = str_append(out, after_dashes);
	if (r == 0)
		r = put_values(out);
	if (r == 0)
		r = put_options(out);
	if (r == 0)
		r = put_operands(out);
	return r < 0 ? r : str_append(out, zsh ? zsh_end : bash_end);
}
