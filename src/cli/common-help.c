/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/cleanup.h"
#include "cli/common.h"

/* The summary as a sentence. */
static int put_summary(const struct verb *verb, struct str *out)
{
	char first = verb->summary[0];

	if (first >= 'a' && first <= 'z')
		first = (char)(first - 'a' + 'A');
	return str_appendf(out, "\n%c%s.\n", first, verb->summary + 1);
}

static int put_usage(const struct verb *verb, struct str *out)
{
	return str_appendf(out, "Usage: pale %s [OPTIONS]%s%s\n", verb->name,
			   *verb->operands ? " " : "", verb->operands);
}

static int put_examples(const struct verb *verb, struct str *out)
{
	const char *line = verb->examples;
	int r = str_append(out, "\nExamples:\n");

	while (r == 0 && *line) {
		size_t len = strcspn(line, "\n");

		r = str_appendf(out, "  %.*s\n", (int)len, line);
		line += len + (line[len] == '\n');
	}
	return r;
}

int help_verb(const struct verb *verb, struct str *out)
{
	struct opt_table table = verb->options();
	int r = put_usage(verb, out);

	if (r == 0)
		r = put_summary(verb, out);
	if (r == 0 && verb->details)
		r = str_appendf(out, "\n%s\n", verb->details);
	if (r == 0)
		r = str_append_char(out, '\n');
	if (r == 0)
		r = opt_help(&table, out);
	if (r == 0 && verb->examples)
		r = put_examples(verb, out);
	return r;
}

static int put_row(const struct verb *verb, struct str *out)
{
	return str_appendf(out, "  %-22s%s\n", verb->name, verb->summary);
}

int help_family(const struct verb *verb, struct str *out)
{
	int family = (int)strcspn(verb->name, " ");
	int r = str_appendf(out, "Usage: pale %.*s VERB [OPTIONS]\n\n", family, verb->name);

	for (int i = 0; r == 0 && i < VERB_COUNT_; i++)
		if (verb_is_kin(verb, verbs[i]))
			r = put_row(verbs[i], out);
	if (r == 0)
		r = str_append_char(out, '\n');
	if (r == 0 && verb->min == 0)
		r = str_appendf(out, "`pale %.*s` alone is `pale %s`.\n", family, verb->name,
				verb->name);
	if (r == 0)
		r = str_appendf(out, "`pale help %.*s VERB` explains one of them.\n", family,
				verb->name);
	return r;
}

static int put_group(enum verb_group group, struct str *out)
{
	bool any = false;
	int r = 0;

	for (int i = 0; r == 0 && i < VERB_COUNT_; i++) {
		if (verbs[i]->group != group)
			continue;
		if (!any)
			r = str_appendf(out, "\n%s:\n", verb_group_title(group));
		any = true;
		if (r == 0)
			r = put_row(verbs[i], out);
	}
	return r;
}

int help_main(struct str *out)
{
	int r = str_append(out, "pale keeps a command inside a boundary that one small policy "
				"describes.\n\n"
				"Usage: pale VERB [OPTIONS] …\n"
				"       pale run [OPTIONS] (NAME [ARGS…] | -- CMD [ARGS…])\n");

	for (int group = 0; r == 0 && group < GROUP_COUNT_; group++)
		r = put_group((enum verb_group)group, out);
	if (r == 0)
		r = str_append(out,
			       "\n`pale VERB --help` or man pale-VERB explains one of them.\n");
	return r;
}
