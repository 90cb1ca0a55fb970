/* SPDX-License-Identifier: MIT */
#include "mcp/tools.h"

#include <string.h>

#include "api/verbs.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "config/keys.h"
#include "config/load.h"
#include "mcp/impl.h"
#include "tap.h"

static const struct key *key_of(const char *path)
{
	for (size_t i = 0; i < config_keys_len; i++)
		if (str_eq(config_keys[i].path, path))
			return &config_keys[i];
	return NULL;
}

/* Options that would open something, or choose another place. */
static bool is_loosening(const struct opt *option)
{
	static const int closed[] = {OPT_PRESET, OPT_ALLOW_DEGRADED, OPT_ENGINE,    OPT_STAGED,
				     OPT_DIRECT, OPT_STAGE,          OPT_SPEC,      OPT_SPEC_FD,
				     OPT_USER,   OPT_WORKSPACE,      OPT_NO_OBSERVE};

	for (size_t i = 0; i < array_len(closed); i++)
		if (option->id == closed[i])
			return true;
	return option->id >= OPT_DIM && option->id != OPT_DIM + DIM_TIMEOUT;
}

static void test_table(void)
{
	const char *const *names = key_of("mcp.expose")->choices;

	for (size_t i = 0; i < TOOL_COUNT_; i++) {
		const struct tool *tool = &tools[i];

		tap_ok(tool->name && tool_verb(tool), "%s has a verb", tool->name);
		tap_eq_str(names[i], tool->name, "[mcp] expose knows it");
		tap_ok(tool_find(tool->name) == tool, "and it is found");
		tap_ok(!(tool->flags & TOOL_READ_ONLY && tool->flags & TOOL_DESTRUCTIVE),
		       "it does not both read only and destroy");
		for (size_t k = 0; k < tool->params_len; k++) {
			const struct param *param = &tool->params[k];
			const struct opt *option = param_option(tool, param);

			tap_ok(!param->option || option, "%s: its verb has --%s", param->name,
			       param->option ? param->option : "");
			tap_ok(param->help || (option && option->help), "it is explained");
			tap_ok(!option || !is_loosening(option), "it opens nothing");
			tap_ok(!option || !option->metavar == (param->type == PARAM_FLAG),
			       "it takes a value if the option does");
			tap_ok(param->type != PARAM_NUMBER || param->max > param->min,
			       "a number has a range");
		}
	}
	tap_ok(!names[TOOL_COUNT_], "and knows no more");
	tap_ok(key_of("mcp.expose")->where == (KEY_SYSTEM | KEY_USER), "a workspace has no say");
	tap_ok(key_of("ceiling.mcp_tools")->choices == names, "the ceiling takes the same names");
	tap_ok(!tool_find("rm"), "nothing else is found");
}

static uint64_t bits(const char *system, const char *user)
{
	struct config config = {0};
	struct err *none = NULL;
	uint64_t exposed;

	config.files[LAYER_SYSTEM].path = (char *)"s";
	config.files[LAYER_USER].path = (char *)"u";
	if (toml_parse(system, strlen(system), &config.files[LAYER_SYSTEM].doc, NULL, none) < 0 ||
	    toml_parse(user, strlen(user), &config.files[LAYER_USER].doc, NULL, none) < 0)
		return 0;
	exposed = tools_exposed(&config);
	toml_free(config.files[LAYER_SYSTEM].doc);
	toml_free(config.files[LAYER_USER].doc);
	return exposed;
}

static void test_exposed(void)
{
	uint64_t plain = ((uint64_t)1 << (TOOL_SANDBOX_STATUS + 1)) - 1;
	uint64_t apply = (uint64_t)1 << TOOL_APPLY, history = (uint64_t)1 << TOOL_HISTORY;

	tap_ok(bits("", "") == plain, "the first twelve, without a word");
	tap_ok(bits("", "[mcp]\nexpose = [\"apply\"]\n") == (plain | apply), "the user adds one");
	tap_ok(bits("[mcp]\nexpose = [\"apply\"]\n", "[mcp]\nexpose = [\"history\"]\n") ==
		       (plain | history),
	       "the closer list counts");
	tap_ok(bits("[ceiling]\nmcp_tools = [\"exec\"]\n", "[mcp]\nexpose = [\"apply\"]\n") ==
		       (uint64_t)1 << TOOL_EXEC,
	       "a ceiling cuts");
	tap_ok(bits("[ceiling]\nmcp_tools = [\"exec\", \"run\"]\n",
		    "[ceiling]\nmcp_tools = [\"exec\", \"read\"]\n") == (uint64_t)1 << TOOL_EXEC,
	       "two ceilings hold together");
	tap_ok(bits("[ceiling]\nmcp_tools = []\n", "") == 0, "an empty one leaves nothing");
}

/* --- arguments --- */

static int check(const char *tool, const char *args)
{
	json_t *value = json_loads(args, JSON_ALLOW_NUL, NULL);
	struct rpc_error error = {0};
	int r = value ? args_check(tool_find(tool), value, &error) : 1;

	json_decref(value);
	return r;
}

static void test_arguments(void)
{
	static const struct {
		const char *tool, *args;
		int want;
	} cases[] = {
		{"read", "{\"path\":\"a\"}", 0},
		{"read", "{\"path\":\"a\",\"offset\":1,\"limit\":1}", 0},
		{"read", "{}", RPC_INVALID_PARAMS},
		{"read", "{\"path\":1}", RPC_INVALID_PARAMS},
		{"read", "{\"path\":\"a\\u0000b\"}", RPC_INVALID_PARAMS},
		{"read", "{\"path\":\"a\",\"limit\":0}", RPC_INVALID_PARAMS},
		{"read", "{\"path\":\"a\",\"limit\":1.0}", RPC_INVALID_PARAMS},
		{"read", "{\"path\":\"a\",\"limit\":\"1\"}", RPC_INVALID_PARAMS},
		{"read", "{\"path\":\"a\",\"limit\":9223372036854775807}", RPC_INVALID_PARAMS},
		{"read", "{\"path\":\"a\",\"preset\":\"off\"}", RPC_INVALID_PARAMS},
		{"read", "{\"path\":\"a\",\"workspace\":\"/\"}", RPC_INVALID_PARAMS},
		{"grep", "{\"pattern\":\"x\",\"paths\":[\"a\",\"b\"],\"fixed\":true}", 0},
		{"grep", "{\"pattern\":\"x\",\"paths\":\"a\"}", RPC_INVALID_PARAMS},
		{"grep", "{\"pattern\":\"x\",\"fixed\":1}", RPC_INVALID_PARAMS},
		{"history", "{\"outcome\":\"ok\"}", 0},
		{"history", "{\"outcome\":\"fine\"}", RPC_INVALID_PARAMS},
		{"exec", "{\"command\":\"x\",\"env\":{\"A\":\"b\"}}", 0},
		{"exec", "{\"command\":\"x\",\"env\":{\"A\":1}}", RPC_INVALID_PARAMS},
		{"exec", "{\"command\":\"x\",\"env\":[]}", RPC_INVALID_PARAMS},
		{"exec", "{\"command\":\"x\",\"memory\":\"1g\"}", RPC_INVALID_PARAMS},
		{"register_command", "{\"name\":\"x\",\"sandbox\":{\"network\":\"none\"}}", 0},
		{"register_command", "{\"name\":\"x\",\"sandbox\":\"test\"}", 0},
		{"register_command", "{\"name\":\"x\",\"sandbox\":[]}", RPC_INVALID_PARAMS},
	};

	for (size_t i = 0; i < array_len(cases); i++)
		tap_eq_int(check(cases[i].tool, cases[i].args), cases[i].want, "%s %s",
			   cases[i].tool, cases[i].args);
}

static void test_unknown_argument(void)
{
	struct rpc_error error = {0};
	json_t *value = json_pack("{s:s}", "file", "a");

	args_check(tool_find("read"), value, &error);
	tap_eq_str(error.message, "read has no argument 'file'; it takes path, offset, limit",
		   "an unknown argument: which there are");
	args_check(tool_find("commands"), value, &error);
	tap_eq_str(error.message, "commands has no argument 'file'; it takes none",
		   "also where there are none");
	json_decref(value);
}

int main(void)
{
	test_table();
	test_exposed();
	test_arguments();
	test_unknown_argument();
	return tap_done();
}
