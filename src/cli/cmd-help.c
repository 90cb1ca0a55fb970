/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common.h"

static void option_json(const struct opt *opt, struct json *json)
{
	const char letter[] = {opt->letter, '\0'};
	const char *const *choices = verb_option_choices(opt);

	json_begin_object(json, NULL);
	json_add_string(json, "name", opt->name);
	json_add_string(json, "letter", opt->letter ? letter : NULL);
	json_add_string(json, "metavar", opt->metavar);
	json_add_string(json, "help", opt->help);
	json_begin_array(json, "choices");
	for (size_t i = 0; choices && choices[i]; i++)
		json_add_string(json, NULL, choices[i]);
	json_end_array(json);
	json_end_object(json);
}

static void verb_json(const struct verb *verb, struct json *json)
{
	struct opt_table table = verb->options();

	json_begin_object(json, NULL);
	json_add_string(json, "verb", verb->name);
	json_add_string(json, "group", verb_group_title(verb->group));
	json_add_string(json, "operands", verb->operands);
	json_add_string(json, "summary", verb->summary);
	json_begin_array(json, "options");
	for (size_t i = 0; i < table.len; i++)
		option_json(&table.items[i], json);
	json_end_array(json);
	json_end_object(json);
}

/* FAMILY: every verb that shares the first word of VERB. VERB NULL: all. */
static int help_json(const struct verb *verb, bool family)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};

	json_begin_array(&json, NULL);
	for (int i = 0; i < VERB_COUNT_; i++)
		if (!verb || verbs[i] == verb || (family && verb_is_kin(verb, verbs[i])))
			verb_json(verbs[i], &json);
	json_end_array(&json);
	return emit_json(&json);
}

static int help_text(const struct verb *verb, bool family)
{
	_cleanup_(str_release) struct str out = {0};
	int r;

	if (!verb)
		r = help_main(&out);
	else
		r = family ? help_family(verb, &out) : help_verb(verb, &out);
	return r < 0 ? report_oom() : emit(&out);
}

int cmd_help(int argc, char **argv)
{
	const struct verb *verb = NULL;
	struct args args;
	struct err err = {0};
	bool family = false;
	int words = 0;
	int r = args_parse(VERB_HELP, argc, argv, &args, &err);

	if (r == 0 && args.len > 0) {
		verb = verb_find(args.len, args.operands, &words);
		if (!verb || words < args.len)
			r = verb_unknown(args.len, args.operands, &err);
		else
			family = words == 1 && strchr(verb->name, ' ');
	}
	if (r < 0)
		return report(&err);
	if (r > 0)
		return STATUS_OK;
	return args.values[OPT_JSON] ? help_json(verb, family) : help_text(verb, family);
}
