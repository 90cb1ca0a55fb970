/* SPDX-License-Identifier: MIT */
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "config/keys.h"
#include "view/table.h"

static const char *const type_names[] = {
	[KEY_CHOICE] = "choice",       [KEY_BOOL] = "boolean",
	[KEY_UINT] = "number",         [KEY_SIZE] = "size",
	[KEY_DURATION] = "duration",   [KEY_TEXT] = "text",
	[KEY_NAME] = "name",           [KEY_TEXTS] = "texts",
	[KEY_CHOICES] = "choices",     [KEY_PATHS] = "paths",
	[KEY_PORTS] = "ports",         [KEY_HOSTS] = "hosts",
	[KEY_VARS] = "variables",      [KEY_TEXT_MAP] = "table of text",
	[KEY_SPEC] = "preset or spec", [KEY_SPEC_TABLE] = "spec",
};

static void key_json(const struct key *key, struct json *json)
{
	json_begin_object(json, NULL);
	json_add_string(json, "key", key->path);
	json_add_string(json, "type", type_names[key->type]);
	json_begin_array(json, "choices");
	for (size_t i = 0; key->choices && key->choices[i]; i++)
		json_add_string(json, NULL, key->choices[i]);
	json_end_array(json);
	json_add_string(json, "default", key->def);
	json_begin_array(json, "files");
	if (key->where & KEY_SYSTEM)
		json_add_string(json, NULL, "system");
	if (key->where & KEY_USER)
		json_add_string(json, NULL, "user");
	if (key->where & KEY_WORKSPACE)
		json_add_string(json, NULL, "workspace");
	json_end_array(json);
	if (key->option)
		json_add_string(json, "option", key->option);
	json_add_string(json, "help", key->help);
	json_end_object(json);
}

static int keys_json(void)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};

	json_begin_object(&json, NULL);
	json_begin_array(&json, "keys");
	for (size_t i = 0; i < config_keys_len; i++)
		key_json(&config_keys[i], &json);
	json_end_array(&json);
	json_begin_array(&json, "spec");
	for (size_t i = 0; i < DIM_COUNT_; i++)
		key_json(&spec_keys[i], &json);
	json_end_array(&json);
	json_end_object(&json);
	return emit_json(&json);
}

static int keys_table(const struct key *keys, size_t len, const char *const *heads, struct str *out)
{
	_cleanup_(table_release) struct table table = {.heads = heads, .columns = 4};
	int r = 0;

	for (size_t i = 0; r == 0 && i < len; i++) {
		r = table_add(&table, keys[i].path);
		if (r == 0)
			r = table_add(&table, type_names[keys[i].type]);
		if (r == 0)
			r = table_add(&table, keys[i].def);
		if (r == 0)
			r = table_add(&table, keys[i].help);
	}
	return r < 0 ? r : table_print(&table, out);
}

static int keys_text(void)
{
	static const char *const key_heads[] = {"KEY", "TYPE", "DEFAULT", "MEANING", NULL};
	static const char *const dim_heads[] = {"DIMENSION", "TYPE", "DEFAULT", "MEANING", NULL};
	_cleanup_(str_release) struct str out = {0};
	int r = keys_table(config_keys, config_keys_len, key_heads, &out);

	if (r == 0)
		r = str_append(&out,
			       "\nBelow presets.NAME, commands.NAME.sandbox and ceiling:\n\n");
	if (r == 0)
		r = keys_table(spec_keys, DIM_COUNT_, dim_heads, &out);
	return r < 0 ? report_oom() : emit(&out);
}

int cmd_config_keys(int argc, char **argv)
{
	struct args args;
	struct err err = {0};
	int r = args_parse(VERB_CONFIG_KEYS, argc, argv, &args, &err);

	if (r > 0)
		return STATUS_OK;
	if (r < 0)
		return report(&err);
	return args.values[OPT_JSON] ? keys_json() : keys_text();
}
