/* SPDX-License-Identifier: MIT */
#include "api/verb-options.h"

#include "api/verb-options-impl.h"
#include "api/verbs.h"
#include "base/cleanup.h"
#include "config/keys.h"
#include "policy/resolve.h"

#define FOR_PROGRAMS "For programs"

static const struct opt run_opts[] = {
	{"preset", 0, "NAME", "the boundary of this preset instead", OPT_PRESET, NULL},
	WORKSPACE,
	{"setenv", 0, "NAME=VALUE", "set a variable for the command", OPT_SETENV, NULL},
	{"allow-degraded", 0, "DIM", "run even if this dimension is enforced only in part",
	 OPT_ALLOW_DEGRADED, NULL},
	{"engine", 0, "NAME", "what enforces the boundary: auto, native, bwrap, landlock",
	 OPT_ENGINE, NULL},
	{"staged", 0, NULL, "stage writes for review", OPT_STAGED, NULL},
	{"direct", 0, NULL, "write to the workspace directly", OPT_DIRECT, NULL},
	{"stage", 0, "NAME", "stage them in this one, not in the workspace's current stage",
	 OPT_STAGE, NULL},
	{"ask", 0, NULL, "ask on this terminal about names that no rule allows", OPT_ASK, NULL},
	{"no-observe", 0, NULL, "do not watch what the command attempts", OPT_NO_OBSERVE, NULL},
	{"explain", 0, NULL, "print the plan and execute nothing", OPT_EXPLAIN, NULL},
	{"json", 'j', NULL, "print the result as JSON; the command's output goes to standard error",
	 OPT_JSON, NULL},
	{"result", 0, "FILE", "write the result as JSON to FILE", OPT_RESULT, NULL},
	HELP,
	{"spec", 0, "TOML", "the whole boundary, as keys of a sandbox table", OPT_SPEC,
	 FOR_PROGRAMS},
	{"spec-fd", 0, "N", "the same, read from descriptor N", OPT_SPEC_FD, FOR_PROGRAMS},
	{"result-fd", 0, "N", "write the result as JSON to descriptor N; a hang-up ends the run",
	 OPT_RESULT_FD, FOR_PROGRAMS},
	{"profile-fd", 0, "N", "write what the command used as JSON to descriptor N",
	 OPT_PROFILE_FD, FOR_PROGRAMS},
};

struct opt_table options_run(void)
{
	static struct opt items[array_len(run_opts) + DIM_COUNT_];
	static size_t len;

	if (len > 0)
		goto made;
	for (size_t i = 0; i < array_len(run_opts); i++)
		items[len++] = run_opts[i];
	for (int dim = 0; dim < DIM_COUNT_; dim++) {
		const struct key *key = &spec_keys[dim];

		if (key->option)
			items[len++] = (struct opt){
				.name = key->option,
				.metavar = key->metavar,
				.help = key->help,
				.choices = key->choices,
				.id = OPT_DIM + dim,
				.group =
					"Boundary; an option that takes one item of a list may be repeated",
			};
	}
made:
	return (struct opt_table){items, len, true};
}

struct opt_table options_help(void)
{
	static const struct opt items[] = {HELP};

	return TABLE(items);
}

struct opt_table options_json(void)
{
	static const struct opt items[] = {JSON, HELP};

	return TABLE(items);
}

struct opt_table options_plain(void)
{
	static const struct opt items[] = {WORKSPACE, HELP};

	return TABLE(items);
}

struct opt_table options_data(void)
{
	static const struct opt items[] = {JSON, WORKSPACE, HELP};

	return TABLE(items);
}

struct opt_table options_commands_list(void)
{
	static const struct opt items[] = {
		NAMES,
		JSON,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_commands_register(void)
{
	static const struct opt items[] = {
		{"sandbox", 0, "PRESET",
		 "the preset that it runs under, or a TOML table; [sandbox] preset if left out",
		 OPT_SANDBOX, NULL},
		{"description", 0, "TEXT", "one line for lists", OPT_DESCRIPTION, NULL},
		{"force", 'f', NULL, "replace a command of that name", OPT_FORCE, NULL},
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_config_show(void)
{
	static const struct opt items[] = {
		{"origin", 0, NULL, "say where each value is written", OPT_ORIGIN, NULL},
		JSON,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_trust(void)
{
	static const struct opt items[] = {
		{"show", 0, NULL, "show what is asked for and whether it is trusted", OPT_SHOW,
		 NULL},
		{"revoke", 0, NULL, "withdraw the agreement", OPT_REVOKE, NULL},
		{"yes", 'y', NULL, "agree without being asked", OPT_YES, NULL},
		{"json", 'j', NULL, "with --show: print JSON", OPT_JSON, NULL},
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_init(void)
{
	static const struct opt items[] = {
		{"detect", 0, NULL, "add the commands that the project's build files suggest",
		 OPT_DETECT, NULL},
		{"force", 'f', NULL, "replace an existing pale.toml", OPT_FORCE, NULL},
		{"dry-run", 'n', NULL, "print what would be written", OPT_DRY_RUN, NULL},
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

static const char *const *engine_choices(void)
{
	for (size_t i = 0; i < config_keys_len; i++)
		if (str_eq(config_keys[i].path, "sandbox.engine"))
			return config_keys[i].choices;
	return NULL;
}

const char *const *verb_option_choices(const struct opt *option)
{
	static const char *dims[DIM_COUNT_ + 1];

	if (option->id >= OPT_DIM)
		return spec_keys[option->id - OPT_DIM].choices;
	switch (option->id) {
	case OPT_PRESET:
	case OPT_SANDBOX:
		return preset_names;
	case OPT_ENGINE:
		return engine_choices();
	case OPT_ALLOW_DEGRADED:
		for (int dim = 0; dim < DIM_COUNT_; dim++)
			dims[dim] = dim_name(dim);
		return dims;
	default:
		return option->choices;
	}
}
