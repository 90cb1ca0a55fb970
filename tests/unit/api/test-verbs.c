/* SPDX-License-Identifier: MIT */
/* The table of verbs is in order, and finds what a command line means. */
#include <string.h>

#include "api/verbs.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "config/keys.h"
#include "tap.h"

static void check_find(const char *line, const char *want, int want_words)
{
	char copy[128], *argv[8] = {0}, *rest = copy, *word;
	int argc = 0, words = -1;
	const struct verb *verb;

	memcpy(copy, line, strlen(line) + 1);
	while ((word = strsep(&rest, " ")) && *word)
		argv[argc++] = word;
	verb = verb_find(argc, argv, &words);
	tap_eq_str(verb ? verb->name : NULL, want, "'%s' is %s", line, want ? want : "no verb");
	if (want)
		tap_eq_int(words, want_words, "'%s': %d words", line, want_words);
	else
		tap_eq_int(words, -1, "'%s': the count is left alone", line);
}

static void find(void)
{
	check_find("run x", "run", 1);
	check_find("commands", "commands list", 1);
	check_find("commands -j", "commands list", 1);
	check_find("commands list -j", "commands list", 2);
	check_find("commands register x y", "commands register", 2);
	check_find("config", "config show", 1);
	check_find("sandbox --json", "sandbox list", 1);
	check_find("trust", "trust", 1);
	check_find("commands foo", NULL, 0);
	check_find("command", NULL, 0);
	check_find("list", NULL, 0);
	check_find("", NULL, 0);
	check_find("runs", "runs list", 1);
	check_find("walk", NULL, 0);
}

static bool options_are_unique(const struct opt_table *table)
{
	for (size_t i = 0; i < table->len; i++)
		for (size_t j = 0; j < i; j++)
			if (str_eq(table->items[i].name, table->items[j].name) ||
			    table->items[i].id == table->items[j].id ||
			    (table->items[i].letter &&
			     table->items[i].letter == table->items[j].letter))
				return false;
	return true;
}

static bool has_option(const struct opt_table *table, int id)
{
	for (size_t i = 0; i < table->len; i++)
		if (table->items[i].id == id)
			return true;
	return false;
}

/* What must start fast, or goes on living. */
static bool is_on_run_path(const struct verb *verb)
{
	return verb->id == VERB_RUN || verb->id == VERB_SHELL || verb->id == VERB_EXEC ||
	       verb->id == VERB_OUTPUT || verb->id == VERB_SIGNAL || verb->id == VERB_WAIT ||
	       str_starts(verb->name, "session ") || str_starts(verb->name, "file ");
}

static void table(void)
{
	for (int i = 0; i < VERB_COUNT_; i++) {
		const struct verb *verb = verbs[i];
		struct opt_table options = verb->options();
		bool texts = true;

		for (size_t j = 0; j < options.len; j++) {
			const char *help = options.items[j].help;

			texts = texts && help && *help && !str_ends(help, ".");
		}
		tap_ok(texts, "%s: every option has a help without a full stop", verb->name);
		tap_ok(options_are_unique(&options), "%s: no option is there twice", verb->name);
		tap_ok(has_option(&options, OPT_HELP), "%s: has --help", verb->name);
		tap_ok(verb->summary && !str_ends(verb->summary, "."), "%s: has a summary",
		       verb->name);
		tap_ok(verb->max == VERB_ANY || verb->max >= verb->min, "%s: operands", verb->name);
		tap_eq_int(verb->on_run_path, is_on_run_path(verb), "%s: which program it is in",
			   verb->name);
	}
}

static void dimensions(void)
{
	struct opt_table options = verbs[VERB_RUN]->options();

	for (int dim = 0; dim < DIM_COUNT_; dim++)
		tap_ok(has_option(&options, OPT_DIM + dim), "run has an option for %s",
		       dim_name(dim));
	tap_ok(verbs[VERB_RUN]->options().len == options.len, "asking twice gives the same table");
}

int main(void)
{
	find();
	table();
	dimensions();
	return tap_done();
}
