/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "config/value.h"
#include "policy/draft.h"

static int copy_text(const struct setting *from, char **ret)
{
	*ret = strdup(from->value->string.bytes);
	return *ret ? 0 : -ENOMEM;
}

/* Of cmd and argv the closer file's one holds; both in one file are an error. */
static int find_program(const struct config *config, const char *name, struct command *command,
			struct err *err)
{
	const char *const cmd_path[] = {"commands", name, "cmd", NULL};
	const char *const argv_path[] = {"commands", name, "argv", NULL};
	struct setting cmd, argv;
	bool has_cmd = config_get(config, cmd_path, &cmd);
	bool has_argv = config_get(config, argv_path, &argv);
	int r;

	if (has_cmd && has_argv && cmd.layer == argv.layer) {
		err_set(err, ERR_CONFIG, -EINVAL, "command '%s' has both argv and, in line %u, cmd",
			name, cmd.origin.line);
		err_hint(err, -EINVAL,
			 "cmd is a shell line, argv a list without a shell: keep one");
		return setting_error(&argv, -EINVAL, err);
	}
	if (has_cmd && (!has_argv || cmd.layer > argv.layer)) {
		command->origin = cmd.origin;
		r = copy_text(&cmd, &command->cmd);
	} else if (has_argv) {
		command->origin = argv.origin;
		r = toml_texts(argv.value, &command->argv);
	} else {
		const char *const table[] = {"commands", name, NULL};

		config_get(config, table, &cmd);
		err_set(err, ERR_CONFIG, -EINVAL, "command '%s' has neither cmd nor argv", name);
		return setting_error(&cmd, -EINVAL, err);
	}
	return r < 0 ? err_oom(err) : 0;
}

/* Rules of the user's, or the system's, for a command that only other workspaces have. */
static bool is_elsewhere(const struct config *config, const char *name)
{
	const char *const table[] = {"commands", name, NULL};
	const char *const cmd[] = {"commands", name, "cmd", NULL};
	const char *const argv[] = {"commands", name, "argv", NULL};
	struct setting s;

	return !config_get_at(config, LAYER_WORKSPACE, table, &s) && !config_get(config, cmd, &s) &&
	       !config_get(config, argv, &s);
}

int command_names(const struct config *config, struct strv *ret)
{
	_cleanup_(strv_release) struct strv all = {0};
	int r = config_names(config, (const char *const[]){"commands", NULL}, &all);

	for (size_t i = 0; i < all.len && r == 0; i++)
		if (!is_elsewhere(config, all.items[i]))
			r = strv_add(ret, all.items[i]);
	return r;
}

int command_find(const struct config *config, const char *name, struct command *ret,
		 struct err *err)
{
	const char *const table[] = {"commands", name, NULL};
	const char *const description[] = {"commands", name, "description", NULL};
	_cleanup_(command_release) struct command command = {0};
	struct setting s;
	int r;

	if (!config_get(config, table, &s) || is_elsewhere(config, name))
		return -ENOENT;
	r = find_program(config, name, &command, err);
	if (r < 0)
		return r;
	command.name = strdup(name);
	if (!command.name ||
	    (config_get(config, description, &s) && copy_text(&s, &command.description) < 0))
		return err_oom(err);
	*ret = command;
	command = (struct command){0};
	return 0;
}

void command_release(struct command *command)
{
	free(command->name);
	free(command->description);
	free(command->cmd);
	strv_release(&command->argv);
	*command = (struct command){0};
}

static int name_sandbox(struct draft *draft, const char *name, struct err *err)
{
	free(draft->out->sandbox);
	draft->out->sandbox = strdup(strcmp(name, "none") == 0 ? "off" : name);
	return draft->out->sandbox ? 0 : err_oom(err);
}

/* A table of the command's own. Without a base it starts from readonly, without
 * that preset's limits: what is left out is tight, and nothing is surprising. */
static int apply_own_table(struct draft *draft, const char *command, enum layer floor,
			   struct err *err)
{
	const char *const table[] = {"commands", command, "sandbox", NULL};
	const char *const base_path[] = {"commands", command, "sandbox", "base", NULL};
	struct setting base;
	bool has_base = false;
	int r;

	for (int layer = LAYER_COUNT_ - 1; layer >= (int)floor && !has_base; layer--)
		has_base = config_get_at(draft->config, layer, base_path, &base);
	if (has_base)
		r = draft_apply_preset(draft, base.value->string.bytes, &base, NULL, err);
	else
		r = draft_apply_preset(draft, "readonly", NULL, NULL, err);
	if (r < 0)
		return r;
	for (int dim = 0; dim < DIM_COUNT_ && !has_base; dim++) {
		uint64_t *limit = spec_limit(&draft->out->spec, dim);

		if (limit)
			*limit = SPEC_UNLIMITED;
	}
	return draft_apply_table(draft, table, floor, err);
}

int draft_apply_sandbox(struct draft *draft, const char *command, const char *asked_preset,
			struct err *err)
{
	const char *const own_path[] = {"commands", command, "sandbox", NULL};
	const char *const default_path[] = {"sandbox", "preset", NULL};
	struct setting s, lower;
	enum layer floor = LAYER_SYSTEM;
	const char *name = "workspace";
	int r;

	if (asked_preset) {
		r = name_sandbox(draft, asked_preset, err);
		return r < 0 ? r : draft_apply_preset(draft, asked_preset, NULL, "--preset", err);
	}
	if (command && config_get(draft->config, own_path, &s) && s.value->type == TOML_TABLE) {
		/* a preset's name in a farther file is replaced, with all beyond it */
		for (int layer = LAYER_SYSTEM; layer < (int)s.layer; layer++)
			if (config_get_at(draft->config, layer, own_path, &lower) &&
			    lower.value->type == TOML_STRING)
				floor = layer + 1;
		r = name_sandbox(draft, "custom", err);
		return r < 0 ? r : apply_own_table(draft, command, floor, err);
	}
	if ((command && config_get(draft->config, own_path, &s)) ||
	    config_get(draft->config, default_path, &s)) {
		name = s.value->string.bytes;
		r = name_sandbox(draft, name, err);
		return r < 0 ? r : draft_apply_preset(draft, name, &s, NULL, err);
	}
	r = name_sandbox(draft, name, err);
	return r < 0 ? r : draft_apply_preset(draft, name, NULL, NULL, err);
}
