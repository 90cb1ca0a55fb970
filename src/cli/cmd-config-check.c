/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "config/value.h"
#include "policy/host-group.h"
#include "policy/resolve.h"

/* What was found, as text or as JSON. */
struct check {
	bool as_json;
	unsigned errors;
	struct strv files;
	struct str out;
	struct json json;
};

static void check_release(struct check *check)
{
	strv_release(&check->files);
	str_release(&check->out);
}

static void add_error(struct check *check, const struct err *err)
{
	check->errors++;
	if (!check->as_json) {
		report(err);
		return;
	}
	json_begin_object(&check->json, NULL);
	json_add_string(&check->json, "code", err_code_name(err->code));
	json_add_string(&check->json, "message", err->message);
	json_add_string(&check->json, "hint", *err->hint ? err->hint : NULL);
	json_end_object(&check->json);
}

/* Every preset and every command by itself, so that all errors are seen. */
static int check_presets(struct check *check, const struct context *context)
{
	_cleanup_(strv_release) struct strv names = {0};
	int r = config_names(&context->config, (const char *const[]){"presets", NULL}, &names);

	for (size_t i = 0; r == 0 && i < names.len; i++) {
		struct err err = {0};
		struct spec spec;

		if (preset_resolve(&context->config, names.items[i], context->workspace.root,
				   &context->user, &spec, &err) < 0)
			add_error(check, &err);
		else
			spec_release(&spec);
	}
	return r;
}

static void check_run(struct check *check, const struct context *context, const char *command)
{
	const struct ask ask = {0};
	struct resolved resolved;
	struct command found;
	struct err err = {0};
	int r = 0;

	if (command) {
		r = command_find(&context->config, command, &found, &err);
		if (r == 0)
			command_release(&found);
	}
	if (r == 0)
		r = spec_resolve(&context->config, command, &ask, &context->workspace,
				 &context->user, &resolved, &err);
	if (r < 0)
		add_error(check, &err);
	else
		resolved_release(&resolved);
}

/* A list of the user's own may be about commands of other workspaces. */
static int check_lanes(struct check *check, const struct context *context, const struct strv *known)
{
	const char *const path[] = {"lanes", "check", NULL};
	_cleanup_(strv_release) struct strv names = {0};
	struct setting setting;

	if (!config_get_at(&context->config, LAYER_WORKSPACE, path, &setting))
		return 0;
	if (toml_texts(setting.value, &names) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < names.len; i++) {
		struct err err = {0};

		if (strv_has(known, names.items[i]))
			continue;
		err_set(&err, ERR_CONFIG, -ENOENT, "check: no command '%s'", names.items[i]);
		setting_error(&setting, -ENOENT, &err);
		add_error(check, &err);
	}
	return 0;
}

static int check_context(struct check *check, const struct context *context)
{
	_cleanup_(strv_release) struct strv names = {0};
	struct err err = {0};
	int r = 0;

	for (int layer = 0; r == 0 && layer < LAYER_COUNT_; layer++)
		if (context->config.files[layer].path)
			r = strv_add(&check->files, context->config.files[layer].path);
	if (host_groups_check(&context->config, &err) < 0)
		add_error(check, &err);
	if (r == 0)
		r = check_presets(check, context);
	if (r == 0)
		r = command_names(&context->config, &names);
	for (size_t i = 0; r == 0 && i < names.len; i++)
		check_run(check, context, names.items[i]);
	if (r == 0)
		r = check_lanes(check, context, &names);
	if (r == 0)
		check_run(check, context, NULL);
	return r;
}

/* The symlink-free name of the folder that FILE is in; NULL with errno. */
static char *folder_of(const char *file)
{
	const char *slash = strrchr(file, '/');
	char *dir = slash ? strndup(file, (size_t)(slash - file) + 1) : strdup(".");
	char *real = dir ? realpath(dir, NULL) : NULL;

	free(dir);
	return real;
}

/* FILE as the pale.toml of the folder that it is in, and no other file. */
static int load_file(const char *file, struct context *ret, struct err *err)
{
	_cleanup_(context_release) struct context context = {0};
	int r = config_check_file(file, LAYER_WORKSPACE, err);

	if (r == 0)
		r = config_load(NULL, NULL, file, &context.config, err);
	if (r == 0)
		r = user_probe(&context.user, err);
	if (r < 0)
		return r;
	context.workspace.root = folder_of(file);
	if (!context.workspace.root)
		return err_sys(err, -errno, "the folder of %s", file);
	context.workspace.cwd = strdup(context.workspace.root);
	if (!context.workspace.cwd)
		return err_oom(err);
	*ret = context;
	context = (struct context){0};
	return 0;
}

static int finish(struct check *check)
{
	int r = 0, status;

	if (check->as_json) {
		json_end_array(&check->json);
		json_add_bool(&check->json, "ok", check->errors == 0);
		json_add_strv(&check->json, "files", &check->files);
		json_end_object(&check->json);
		status = emit_json(&check->json);
		return status ? status : check->errors > 0;
	}
	if (check->errors > 0)
		return STATUS_ERROR;
	for (size_t i = 0; r == 0 && i < check->files.len; i++) {
		const char *file = check->files.items[i];

		r = str_append(&check->out, "ok ");
		if (r == 0)
			r = str_append_escaped(&check->out, file, strlen(file));
		if (r == 0)
			r = str_append_char(&check->out, '\n');
	}
	if (r == 0 && check->files.len == 0)
		r = str_append(&check->out, "ok, there is no configuration file\n");
	return r < 0 ? report_oom() : emit(&check->out);
}

int cmd_config_check(int argc, char **argv)
{
	_cleanup_(context_release) struct context context = {0};
	_cleanup_(check_release) struct check check = {0};
	struct args args;
	struct err err = {0};
	int r = args_parse(VERB_CONFIG_CHECK, argc, argv, &args, &err);

	if (r != 0)
		return r < 0 ? report(&err) : STATUS_OK;
	check.as_json = args.values[OPT_JSON];
	check.json = (struct json){.out = &check.out, .pretty = true};
	if (check.as_json) {
		json_begin_object(&check.json, NULL);
		json_begin_array(&check.json, "errors");
	}
	r = args.len > 0 ? load_file(args.operands[0], &context, &err)
			 : context_load(args.values[OPT_WORKSPACE], &context, &err);
	if (r < 0)
		add_error(&check, &err);
	else if (check_context(&check, &context) < 0)
		return report_oom();
	return finish(&check);
}
