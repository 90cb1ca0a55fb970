/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "policy/resolve.h"
#include "view/table.h"
#include "view/toml-json.h"

static bool get_sandbox(const struct config *config, const char *name, struct setting *ret)
{
	return config_get(config, (const char *const[]){"commands", name, "sandbox", NULL}, ret);
}

/* What runs, as one line: the shell line, or the list as TOML. */
static int command_line(const struct command *command, struct str *out)
{
	int r = 0;

	if (command->cmd)
		return str_append(out, command->cmd);
	for (size_t i = 0; r == 0 && i < command->argv.len; i++) {
		r = str_append(out, i ? ", " : "[");
		if (r == 0)
			r = toml_quote(out, command->argv.items[i], strlen(command->argv.items[i]));
	}
	return r < 0 ? r : str_append_char(out, ']');
}

static int sandbox_text(const struct config *config, const char *name, struct str *out)
{
	struct setting setting;

	if (!get_sandbox(config, name, &setting))
		return str_append(out, "-");
	if (setting.value->type == TOML_STRING)
		return str_append(out, setting.value->string.bytes);
	return str_append(out, "custom");
}

static void command_json(const struct config *config, const struct command *command,
			 struct json *json)
{
	struct setting setting;

	json_begin_object(json, NULL);
	json_add_string(json, "name", command->name);
	json_add_string(json, "description", command->description);
	json_add_string(json, "cmd", command->cmd);
	if (command->cmd)
		json_add_null(json, "argv");
	else
		json_add_strv(json, "argv", &command->argv);
	if (get_sandbox(config, command->name, &setting))
		toml_json(setting.value, "sandbox", json);
	else
		json_add_null(json, "sandbox");
	json_add_string(json, "file", command->origin.file);
	json_add_uint(json, "line", command->origin.line);
	json_end_object(json);
}

static int list_json(const struct config *config, const struct strv *names, struct str *out,
		     struct err *err)
{
	struct json json = {.out = out, .pretty = true};

	json_begin_array(&json, NULL);
	for (size_t i = 0; i < names->len; i++) {
		_cleanup_(command_release) struct command command = {0};
		int r = command_find(config, names->items[i], &command, err);

		if (r < 0)
			return r;
		command_json(config, &command, &json);
	}
	json_end_array(&json);
	return json_finish(&json) < 0 || str_append_char(out, '\n') < 0 ? err_oom(err) : 0;
}

static int list_row(const struct config *config, const char *name, struct table *table,
		    struct err *err)
{
	_cleanup_(command_release) struct command command = {0};
	_cleanup_(str_release) struct str line = {0}, sandbox = {0};
	int r = command_find(config, name, &command, err);

	if (r < 0)
		return r;
	if (command_line(&command, &line) < 0 || sandbox_text(config, name, &sandbox) < 0 ||
	    table_add(table, name) < 0 || table_add(table, str_text(&sandbox)) < 0 ||
	    table_add(table, command.description ? command.description : str_text(&line)) < 0)
		return err_oom(err);
	return 0;
}

static int list_table(const struct config *config, const struct strv *names, struct str *out,
		      struct err *err)
{
	static const char *const heads[] = {"COMMAND", "SANDBOX", "RUNS", NULL};
	_cleanup_(table_release) struct table table = {.heads = heads, .columns = 3};

	for (size_t i = 0; i < names->len; i++) {
		int r = list_row(config, names->items[i], &table, err);

		if (r < 0)
			return r;
	}
	return table_print(&table, out) < 0 ? err_oom(err) : 0;
}

static int list_names(const struct strv *names, struct str *out, struct err *err)
{
	for (size_t i = 0; i < names->len; i++)
		if (str_appendf(out, "%s\n", names->items[i]) < 0)
			return err_oom(err);
	return 0;
}

int cmd_commands_list(int argc, char **argv)
{
	_cleanup_(context_release) struct context context = {0};
	_cleanup_(strv_release) struct strv names = {0};
	_cleanup_(str_release) struct str out = {0};
	struct args args;
	struct err err = {0};
	int r = verb_begin(VERB_COMMANDS_LIST, argc, argv, &args, &context, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0 && command_names(&context.config, &names) < 0)
		r = err_oom(&err);
	if (r < 0)
		return report(&err);
	if (args.values[OPT_JSON])
		r = list_json(&context.config, &names, &out, &err);
	else if (args.values[OPT_NAMES])
		r = list_names(&names, &out, &err);
	else if (names.len > 0)
		r = list_table(&context.config, &names, &out, &err);
	else if (str_append(&out, "no commands; `pale init --detect` or `pale commands register` "
				  "adds some\n") < 0)
		r = err_oom(&err);
	return r < 0 ? report(&err) : emit(&out);
}

static int show_text(const struct config *config, const struct command *command, struct str *out)
{
	_cleanup_(table_release) struct table table = {.columns = 2};
	_cleanup_(str_release) struct str line = {0}, sandbox = {0};
	char buf[ORIGIN_TEXT_MAX];
	struct setting setting;
	int r = command_line(command, &line);

	if (r == 0 && get_sandbox(config, command->name, &setting))
		r = toml_value_print(setting.value, &sandbox);
	const char *const cells[] = {
		"name",
		command->name,
		"description",
		command->description,
		command->cmd ? "cmd" : "argv",
		str_text(&line),
		"sandbox",
		sandbox.data,
		"written at",
		origin_text(&command->origin, buf, sizeof(buf)),
	};
	for (size_t i = 0; r == 0 && i < array_len(cells); i++)
		r = table_add(&table, cells[i]);
	return r < 0 ? r : table_print(&table, out);
}

static int no_command(const struct config *config, const char *name, struct err *err)
{
	_cleanup_(strv_release) struct strv names = {0};
	const char *near = NULL;
	int r = err_set(err, ERR_USAGE, -ENOENT, "no command '%s'", name);

	if (command_names(config, &names) == 0)
		near = str_nearest(name, (const char *const *)names.items, names.len);
	return near ? err_hint(err, r, "did you mean '%s'?", near)
		    : err_hint(err, r, "pale commands lists them");
}

int cmd_commands_show(int argc, char **argv)
{
	_cleanup_(context_release) struct context context = {0};
	_cleanup_(command_release) struct command command = {0};
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};
	struct args args;
	struct err err = {0};
	int r = verb_begin(VERB_COMMANDS_SHOW, argc, argv, &args, &context, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = command_find(&context.config, args.operands[0], &command, &err);
	if (r == -ENOENT && !*err.message)
		no_command(&context.config, args.operands[0], &err);
	if (r < 0)
		return report(&err);
	if (args.values[OPT_JSON]) {
		command_json(&context.config, &command, &json);
		return emit_json(&json);
	}
	return show_text(&context.config, &command, &out) < 0 ? report_oom() : emit(&out);
}
