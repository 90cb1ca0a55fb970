/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/detect.h"
#include "api/edit.h"

static const char template[] =
	"# What commands may do in this workspace: pale.toml(5).\n"
	"# `pale config keys` lists every key, `pale config check` checks this file.\n"
	"\n"
	"[sandbox]\n"
	"# What a command without a sandbox of its own gets: readonly, test, build,\n"
	"# integration, workspace, unrestricted, off, or a preset of your own.\n"
	"preset = \"workspace\"\n"
	"\n"
	"# Variables for every command, beyond PATH, HOME, LANG and their like.\n"
	"# [sandbox.env]\n"
	"# pass = [\"CARGO_HOME\"]\n"
	"# set = { CI = \"1\" }\n"
	"\n"
	"# A preset of your own, on top of a built-in one.\n"
	"# [presets.ci]\n"
	"# base = \"build\"\n"
	"# timeout = \"20m\"\n"
	"\n"
	"# `pale run NAME` runs a command: cmd is a shell line, argv a list that needs\n"
	"# no shell; sandbox is a preset, or a table of dimensions.\n"
	"# [commands.test]\n"
	"# argv = [\"make\", \"test\"]\n"
	"# sandbox = \"test\"\n";

static int add_found(struct edit *edit, const struct found_command *command, struct err *err)
{
	_cleanup_(str_release) struct str argv = {0}, sandbox = {0};
	int r = str_append_char(&argv, '[');

	for (size_t i = 0; r == 0 && i < command->argv.len; i++) {
		const char *arg = command->argv.items[i];

		if (i > 0)
			r = str_append(&argv, ", ");
		if (r == 0)
			r = toml_quote(&argv, arg, strlen(arg));
	}
	if (r == 0)
		r = str_append_char(&argv, ']');
	if (r == 0 && command->preset)
		r = toml_quote(&sandbox, command->preset, strlen(command->preset));
	if (r < 0)
		return err_oom(err);
	r = edit_command(edit, command->name, "argv", argv.data, err);
	return r < 0 || !command->preset
		       ? r
		       : edit_command(edit, command->name, "sandbox", sandbox.data, err);
}

/* Commands that the file has are left alone. One line for each that is new. */
static int add_detected(struct edit *edit, struct str *log, struct err *err)
{
	_cleanup_(found_release) struct found found = {0};
	int r = detect_commands(edit->dirfd, &found, err);

	for (size_t i = 0; r == 0 && i < found.len; i++) {
		const struct found_command *command = &found.items[i];

		if (edit_has_command(edit, command->name))
			continue;
		r = add_found(edit, command, err);
		if (r == 0 &&
		    str_appendf(log, "  %s (%s), sandbox %s\n", command->name, command->source,
				command->preset ? command->preset : "-") < 0)
			r = err_oom(err);
	}
	return r;
}

static int check_absent(const struct edit *edit, const struct args *args, struct err *err)
{
	if (!edit->existed || args->values[OPT_FORCE] || args->values[OPT_DETECT])
		return 0;
	err_set(err, ERR_CONFIG, -EEXIST, "%s exists", edit->context.workspace_file);
	return err_hint(err, -EEXIST, "--detect adds commands to it, --force replaces it");
}

static int put_deed(struct str *out, const char *deed, const char *path, const char *log)
{
	int r = str_append(out, deed);

	if (r == 0)
		r = str_append_escaped(out, path, strlen(path));
	return r < 0 ? r : str_appendf(out, "\n%s", log);
}

static int do_init(struct edit *edit, const struct args *args, struct str *out, struct err *err)
{
	_cleanup_(str_release) struct str log = {0};
	bool fresh = !edit->existed || args->values[OPT_FORCE];
	int r = check_absent(edit, args, err);

	if (r == 0 && fresh)
		r = edit_restart(edit, template, strlen(template), err);
	if (r == 0 && args->values[OPT_DETECT])
		r = add_detected(edit, &log, err);
	if (r < 0)
		return r;
	if (args->values[OPT_DRY_RUN]) {
		r = edit_check(edit, err);
		return r == 0 && toml_print(edit->doc, out) < 0 ? err_oom(err) : r;
	}
	if (!fresh && log.len == 0)
		return str_append(out, "nothing to add\n") < 0 ? err_oom(err) : 0;
	r = edit_commit(edit, err);
	if (r == 0 && put_deed(out, fresh ? "wrote " : "added to ", edit->context.workspace_file,
			       str_text(&log)) < 0)
		r = err_oom(err);
	return r;
}

int cmd_init(int argc, char **argv)
{
	_cleanup_(edit_release) struct edit edit = {.dirfd = -1};
	_cleanup_(str_release) struct str out = {0};
	struct args args;
	struct err err = {0};
	int r = args_parse(VERB_INIT, argc, argv, &args, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		/* A broken file may be replaced, but not added to. */
		r = edit_begin(args.values[OPT_WORKSPACE],
			       !args.values[OPT_FORCE] && args.values[OPT_DETECT], &edit, &err);
	if (r == 0)
		r = do_init(&edit, &args, &out, &err);
	return r < 0 ? report(&err) : emit(&out);
}
