/* SPDX-License-Identifier: MIT */
/*
 * pale mcp install: an entry for `pale mcp` in the configuration of a client, and nothing else
 * in it changed. Every change is made and checked before the first file is written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/check-child.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "cli/client-file.h"
#include "cli/clients.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "config/workspace.h"

struct install {
	const struct client *client;
	struct user user;
	struct workspace workspace; /* as far as it is needed */
	bool is_project, takeover, force, print;
	struct strv argv;            /* what the client is to start */
	struct client_text files[2]; /* with the entry, with the rule; or one with both */
	struct str said;
};

static void install_release(struct install *install)
{
	user_release(&install->user);
	workspace_release(&install->workspace);
	strv_release(&install->argv);
	client_text_release(&install->files[0]);
	client_text_release(&install->files[1]);
	str_release(&install->said);
}

static int open_file(struct install *install, bool rule, struct client_text *file, struct err *err)
{
	const struct client *client = install->client;
	int r;

	file->root = install->is_project ? install->workspace.root : NULL;
	r = client_path(rule ? &client->rules : &client->servers, &install->user, file->root,
			&file->path, err);
	return r < 0 || install->print ? r : client_text_read(file, err);
}

/* TEXT with the entry or the rule in it: 1, or 0 when it is there already. */
static int add(const struct install *install, bool rule, const struct str *text,
	       struct str *ret_text, struct err *err)
{
	return rule ? client_add_rule(install->client, text, ret_text, err)
		    : client_add_server(install->client, &install->argv, install->force, text,
					ret_text, err);
}

/* A path may hold anything. */
static int say(struct install *install, bool rule, const char *path, bool is_changed)
{
	const struct client *client = install->client;
	struct str *said = &install->said;

	if (str_append_escaped(said, path, strlen(path)) < 0)
		return -ENOMEM;
	if (rule)
		return str_appendf(said, ": %s.%s %s %s\n", client->rule_path[0],
				   client->rule_path[1], is_changed ? "now says" : "says already",
				   client->rule);
	return str_appendf(said, ": %s.%s %s\n", client->list, CLIENT_ENTRY,
			   is_changed ? "added" : "is there already");
}

static int change_file(struct install *install, bool rule, struct client_text *file,
		       struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	int r = add(install, rule, &file->text, &text, err);

	if (r < 0)
		return err_wrap(err, r, "%s", file->path);
	if (say(install, rule, file->path, r > 0) < 0)
		return err_oom(err);
	if (r > 0) {
		str_release(&file->text);
		file->text = text;
		text = (struct str){0};
		file->is_changed = true;
	}
	return 0;
}

/* Line by line: only the ends of lines are ours. */
static void show_lines(const char *text)
{
	_cleanup_(str_release) struct str out = {0};

	while (*text) {
		size_t len = strcspn(text, "\n");

		(void)str_append_escaped(&out, text, len);
		(void)str_append_char(&out, '\n');
		text += len + (text[len] == '\n');
	}
	fd_write_all(STDERR_FILENO, str_text(&out), out.len);
}

/* For somebody who has to do it by hand. */
static void show_text(const struct install *install, bool rule)
{
	_cleanup_(str_release) struct str text = {0}, none = {0};
	struct err err = {0};

	if (str_append(&text, "pale: this belongs there:\n") == 0 &&
	    add(install, rule, &none, &text, &err) > 0)
		show_lines(str_text(&text));
}

static int change_files(struct install *install, struct err *err)
{
	const struct client *client = install->client;
	bool one = str_eq(client->servers.project, client->rules.project);

	for (int i = 0; i < 1 + install->takeover; i++) {
		struct client_text *file = &install->files[one ? 0 : i];
		int r = file->path ? 0 : open_file(install, i == 1, file, err);

		if (r == 0)
			r = change_file(install, i == 1, file, err);
		if (r < 0) {
			show_text(install, i == 1);
			return r == -EEXIST ? err_hint(err, r, "--force replaces it") : r;
		}
	}
	return 0;
}

static int write_files(struct install *install, struct err *err)
{
	int r = 0;

	for (int i = 0; r == 0 && i < 2; i++)
		if (install->files[i].is_changed)
			r = client_text_write(&install->files[i], err);
	return r;
}

static void show_name(const char *path)
{
	_cleanup_(str_release) struct str out = {0};

	(void)str_append(&out, "pale: for ");
	(void)str_append_escaped(&out, path, strlen(path));
	(void)str_append(&out, ":\n");
	fd_write_all(STDERR_FILENO, str_text(&out), out.len);
}

/* The text alone goes to standard output. */
static int print_files(struct install *install)
{
	int status = STATUS_OK;

	for (int i = 0; status == STATUS_OK && i < 2; i++) {
		if (!install->files[i].is_changed)
			continue;
		show_name(install->files[i].path);
		status = emit(&install->files[i].text);
	}
	return status;
}

/* --- the command line --- */

static int find_client(const struct args *args, struct install *install, struct err *err)
{
	const char *name = args->values[OPT_CLIENT];
	int r;

	install->client = name ? client_find(name) : NULL;
	install->takeover = args->values[OPT_TAKEOVER];
	install->force = args->values[OPT_FORCE];
	install->print = args->values[OPT_PRINT];
	install->is_project = !args->values[OPT_USER];
	if (args->values[OPT_USER] && args->values[OPT_PROJECT])
		return err_set(err, ERR_USAGE, -EINVAL, "--user and --project exclude each other");
	if (!install->client) {
		r = name ? err_set(err, ERR_USAGE, -EINVAL, "--client: '%s' is not known", name)
			 : err_set(err, ERR_USAGE, -EINVAL, "mcp install: --client is missing");
		return err_hint(err, r, "one of claude-code, codex, gemini, cursor, vscode");
	}
	if (!install->takeover || install->client->rules.project)
		return 0;
	r = err_set(err, ERR_UNSUPPORTED, -ENOTSUP,
		    "--takeover: %s documents no setting that turns its own shell off", name);
	return err_hint(err, r, "nothing was written; install without it, and %s",
			install->client->instead);
}

/* All but one put variables in where a text says ${…}, or $…, and know no way to mean it literally. */
static int check_literal(const struct install *install, struct err *err)
{
	for (size_t i = 0; i < install->argv.len && !install->client->is_toml; i++)
		if (strchr(install->argv.items[i], '$'))
			return err_set(err, ERR_UNSUPPORTED, -ENOTSUP,
				       "%s: %s would take what is behind the $ for a variable",
				       install->argv.items[i], install->client->name);
	return 0;
}

/* PALE mcp [--workspace DIR] [--staged]. A project's own file names the workspace, since not
 * every client starts its servers there. */
static int make_argv(const struct args *args, struct install *install, struct err *err)
{
	const char *asked = args->values[OPT_WORKSPACE], *root;
	_cleanup_(freep) char *program = NULL, *real = NULL;
	int r = check_program(&program, err);

	if (r < 0)
		return r;
	real = realpath(program, NULL);
	if (!real)
		return err_sys(err, -errno, "%s", program);
	if (install->is_project || asked)
		r = workspace_find(asked, &install->user, &install->workspace, err);
	if (r < 0)
		return r;
	root = install->workspace.root;
	if (root && path_covers(root, real)) {
		r = err_set(err, ERR_POLICY, -EPERM,
			    "%s lies in the workspace, where a command inside could replace it",
			    real);
		return err_hint(err, r, "install pale elsewhere, and call that one");
	}
	if (strv_add(&install->argv, real) < 0 || strv_add(&install->argv, "mcp") < 0 ||
	    (root && strv_add(&install->argv, "--workspace") < 0) ||
	    (root && strv_add(&install->argv, root) < 0) ||
	    (args->values[OPT_STAGED] && strv_add(&install->argv, "--staged") < 0))
		return err_oom(err);
	return check_literal(install, err);
}

int cmd_mcp_install(int argc, char **argv)
{
	_cleanup_(install_release) struct install install = {
		.files = {CLIENT_TEXT_NONE, CLIENT_TEXT_NONE}};
	struct args args;
	struct err err = {0};
	int r = args_parse(VERB_MCP_INSTALL, argc, argv, &args, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = find_client(&args, &install, &err);
	if (r == 0)
		r = user_probe(&install.user, &err);
	if (r == 0)
		r = make_argv(&args, &install, &err);
	if (r == 0)
		r = change_files(&install, &err);
	if (r == 0 && install.print)
		return print_files(&install);
	if (r == 0)
		r = write_files(&install, &err);
	return r < 0 ? report(&err) : emit(&install.said);
}
