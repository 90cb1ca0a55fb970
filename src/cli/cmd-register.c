/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/learn-verb.h"
#include "api/edit.h"
#include "config/value.h"
#include "policy/resolve.h"

static int quote(const char *text, const char *what, struct str *out, struct err *err)
{
	int r = toml_quote(out, text, strlen(text));

	if (r == -EILSEQ)
		return err_set(err, ERR_USAGE, r, "%s is not UTF-8, which TOML cannot hold", what);
	return r < 0 ? err_oom(err) : 0;
}

static int quote_list(char **items, int len, struct str *out, struct err *err)
{
	int r = str_append_char(out, '[') < 0 ? err_oom(err) : 0;

	for (int i = 0; r == 0 && i < len; i++) {
		if (i > 0 && str_append(out, ", ") < 0)
			return err_oom(err);
		r = quote(items[i], "an argument", out, err);
	}
	return r == 0 && str_append_char(out, ']') < 0 ? err_oom(err) : r;
}

static int check_shape(const struct args *args, struct err *err)
{
	const char *name = args->operands[0];
	int r;

	if (!name_is_valid(name)) {
		r = err_set(err, ERR_USAGE, -EINVAL, "'%s' cannot be a command's name", name);
		return err_hint(err, r,
				"a name is letters, digits, '.', '_' and '-', and begins "
				"with a letter or digit");
	}
	if (!*args->operands[1])
		return err_set(err, ERR_USAGE, -EINVAL, "register: the command is empty");
	if (args->dashdash == 1 || (args->dashdash < 0 && args->len == 2))
		return 0;
	r = err_set(err, ERR_USAGE, -EINVAL, "register: unexpected operand '%s'",
		    args->operands[args->len - 1]);
	return err_hint(err, r,
			"one shell line in quotes, or a list after --: "
			"pale commands register %s -- %s …",
			name, args->operands[1]);
}

/* Refuse what is there already, wherever it is written. */
static int check_free(const struct edit *edit, const char *name, struct err *err)
{
	const char *const path[] = {"commands", name, NULL};
	_cleanup_(strv_release) struct strv names = {0};
	struct setting setting;
	char buf[ORIGIN_TEXT_MAX];
	int r;

	/* A rule of the user's for commands of that name is none. */
	if (command_names(&edit->context.config, &names) < 0)
		return err_oom(err);
	if (!strv_has(&names, name) || !config_get(&edit->context.config, path, &setting))
		return 0;
	r = err_set(err, ERR_CONFIG, -EEXIST, "%s: the command '%s' exists",
		    origin_text(&setting.origin, buf, sizeof(buf)), name);
	return err_hint(err, r, "--force replaces it");
}

/* A preset's name, or a table of dimensions. */
static bool is_table(const char *sandbox)
{
	return sandbox && *sandbox == '{';
}

static int check_preset(const struct edit *edit, const char *preset, struct err *err)
{
	const struct context *context = &edit->context;
	struct spec spec;
	int r = preset_resolve(&context->config, preset, context->workspace.root, &context->user,
			       &spec, err);

	if (r == 0)
		spec_release(&spec);
	return r < 0 ? err_wrap(err, r, "--sandbox") : 0;
}

static int write_command(struct edit *edit, const struct args *args, struct err *err)
{
	_cleanup_(str_release) struct str cmd = {0}, sandbox = {0}, description = {0};
	const char *name = args->operands[0];
	bool list = args->dashdash >= 0;
	int r;

	r = list ? quote_list(args->operands + 1, args->len - 1, &cmd, err)
		 : quote(args->operands[1], "CMD", &cmd, err);
	if (r == 0 && is_table(args->values[OPT_SANDBOX]))
		r = str_append(&sandbox, args->values[OPT_SANDBOX]) < 0 ? err_oom(err) : 0;
	else if (r == 0 && args->values[OPT_SANDBOX])
		r = quote(args->values[OPT_SANDBOX], "--sandbox", &sandbox, err);
	if (r == 0 && args->values[OPT_DESCRIPTION])
		r = quote(args->values[OPT_DESCRIPTION], "--description", &description, err);
	if (r == 0)
		r = edit_command(edit, name, "description", description.data, err);
	if (r == 0)
		r = edit_command(edit, name, list ? "argv" : "cmd", cmd.data, err);
	if (r == 0)
		r = edit_command(edit, name, list ? "cmd" : "argv", NULL, err);
	if (r == 0)
		r = edit_command(edit, name, "sandbox", sandbox.data, err);
	return r < 0 ? r : edit_commit(edit, err);
}

static int do_register(const struct args *args, struct err *err)
{
	_cleanup_(edit_release) struct edit edit = {.dirfd = -1};
	int r = check_shape(args, err);

	if (r == 0)
		r = edit_begin(args->values[OPT_WORKSPACE], true, &edit, err);
	if (r == 0 && !args->values[OPT_FORCE])
		r = check_free(&edit, args->operands[0], err);
	if (r == 0 && args->values[OPT_SANDBOX] && !is_table(args->values[OPT_SANDBOX]))
		r = check_preset(&edit, args->values[OPT_SANDBOX], err);
	return r < 0 ? r : write_command(&edit, args, err);
}

int cmd_commands_register(int argc, char **argv)
{
	struct args args;
	struct err err = {0};
	bool needed;
	int r = args_parse(VERB_COMMANDS_REGISTER, argc, argv, &args, &err);

	if (r == 0) {
		r = do_register(&args, &err);
		if (r == 0)
			r = say_trust(args.values[OPT_WORKSPACE], &needed, &err);
	}
	return r < 0 ? report(&err) : STATUS_OK;
}

static int do_unregister(const struct args *args, struct err *err)
{
	_cleanup_(edit_release) struct edit edit = {.dirfd = -1};
	const char *name = args->operands[0];
	const char *const path[] = {"commands", name, NULL};
	struct setting setting;
	char buf[ORIGIN_TEXT_MAX];
	int r = edit_begin(args->values[OPT_WORKSPACE], true, &edit, err);

	if (r < 0)
		return r;
	if (!edit_has_command(&edit, name)) {
		bool elsewhere = config_get(&edit.context.config, path, &setting);

		r = err_set(err, elsewhere ? ERR_CONFIG : ERR_USAGE, -ENOENT,
			    "no command '%s' in %s", name, edit.context.workspace_file);
		return elsewhere ? err_hint(err, r, "it is written at %s",
					    origin_text(&setting.origin, buf, sizeof(buf)))
				 : err_hint(err, r, "pale commands lists them");
	}
	r = toml_unset(edit.doc, path, 2, err);
	return r < 0 ? r : edit_commit(&edit, err);
}

int cmd_commands_unregister(int argc, char **argv)
{
	struct args args;
	struct err err = {0};
	int r = args_parse(VERB_COMMANDS_UNREGISTER, argc, argv, &args, &err);

	if (r == 0)
		r = do_unregister(&args, &err);
	return r < 0 ? report(&err) : STATUS_OK;
}
