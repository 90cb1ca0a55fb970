/* SPDX-License-Identifier: MIT */
#include "cli/clients.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/json-edit.h"
#include "config/toml.h"
#include "config/workspace.h"

static const struct client clients[] = {
	{
		.name = "claude-code",
		.servers = {".mcp.json", ".claude.json", "CLAUDE_CONFIG_DIR", ".claude.json"},
		.list = "mcpServers",
		.is_typed = true,
		.rules = {".claude/settings.json", ".claude/settings.json", "CLAUDE_CONFIG_DIR",
			  "settings.json"},
		.rule_path = {"permissions", "deny"},
		.rule = "Bash",
	},
	{
		.name = "codex",
		.servers = {".codex/config.toml", ".codex/config.toml", "CODEX_HOME",
			    "config.toml"},
		.list = "mcp_servers",
		.is_toml = true,
		.rules = {".codex/config.toml", ".codex/config.toml", "CODEX_HOME", "config.toml"},
		.rule_path = {"features", "shell_tool"},
		.rule = "false",
	},
	{
		.name = "gemini",
		.servers = {".gemini/settings.json", ".gemini/settings.json"},
		.list = "mcpServers",
		.comments = true,
		.rules = {".gemini/settings.json", ".gemini/settings.json"},
		.rule_path = {"tools", "exclude"},
		.rule = "run_shell_command",
	},
	{
		.name = "cursor",
		.servers = {".cursor/mcp.json", ".cursor/mcp.json"},
		.list = "mcpServers",
		.comments = true,
		.instead = "its command line takes permissions.deny in .cursor/cli.json; in the "
			   "editor, turn running commands off by hand",
	},
	{
		.name = "vscode",
		.servers = {".vscode/mcp.json", ".config/Code/User/mcp.json", "XDG_CONFIG_HOME",
			    "Code/User/mcp.json"},
		.list = "servers",
		.is_typed = true,
		.comments = true,
		.instead = "take the terminal out of the tools of a chat by hand (Configure "
			   "Tools), or use an agent file that names its tools",
	},
};

const char *const client_names[] = {"claude-code", "codex", "gemini", "cursor", "vscode", NULL};

const struct client *client_find(const char *name)
{
	for (size_t i = 0; i < array_len(clients); i++)
		if (str_eq(clients[i].name, name))
			return &clients[i];
	return NULL;
}

int client_path(const struct client_file *file, const struct user *user, const char *root,
		char **ret_path, struct err *err)
{
	const char *base = file->env ? getenv(file->env) : NULL;

	if (root)
		*ret_path = path_join(root, file->project);
	else if (base && *base == '/')
		*ret_path = path_join(base, file->user_in_env);
	else if (user->home)
		*ret_path = path_join(user->home, file->user);
	else
		return err_set(err, ERR_CONFIG, -ENOENT, "your home is not known");
	return *ret_path ? 0 : err_oom(err);
}

/* --- JSON --- */

static json_t *entry_json(const struct client *client, const struct strv *argv)
{
	json_t *entry = json_object(), *args = json_array();

	if (client->is_typed)
		json_object_set_new(entry, "type", json_string("stdio"));
	json_object_set_new(entry, "command", json_string(argv->items[0]));
	for (size_t i = 1; i < argv->len; i++)
		if (json_array_append_new(args, json_string(argv->items[i])) < 0)
			json_array_clear(args);
	json_object_set_new(entry, "args", args);
	if (json_object_size(entry) == 2 + (size_t)client->is_typed &&
	    json_array_size(args) == argv->len - 1)
		return entry;
	json_decref(entry);
	return NULL;
}

static int add_json(const struct str *text, const struct json_put *put, struct str *ret_text,
		    struct err *err)
{
	if (!put->value)
		return err_oom(err);
	return json_edit(str_text(text), text->len, put, ret_text, err);
}

/* --- TOML --- */

static int quote(const char *text, struct str *out)
{
	return toml_quote(out, text, strlen(text));
}

static int quote_list(char *const *items, size_t n, struct str *out)
{
	int r = str_append_char(out, '[');

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (i > 0)
			r = str_append(out, ", ");
		if (r == 0)
			r = quote(items[i], out);
	}
	return r < 0 ? r : str_append_char(out, ']');
}

static int open_toml(const struct str *text, struct toml **ret, struct err *err)
{
	struct toml_pos pos = {0};
	int r = toml_parse(str_text(text), text->len, ret, &pos, err);

	return r < 0 ? err_wrap(err, r, "line %u, column %u", pos.line, pos.column) : 0;
}

/* Does KEY of TABLE say VALUE, which is TOML? */
static bool says(const struct toml_value *table, const char *key, const char *value)
{
	const struct toml_value *there = table ? toml_get(table, key) : NULL;
	_cleanup_(str_release) struct str text = {0};

	return there && toml_value_print(there, &text) == 0 && str_eq(str_text(&text), value);
}

/* Members of ENTRY that are not ours: somebody wants more of it. */
static int list_others(const struct toml_value *entry, struct str *out)
{
	size_t n = 0;
	int r = 0;

	if (entry->type != TOML_TABLE)
		return 0;
	for (const struct toml_entry *e = entry->table.first; r == 0 && e; e = e->next)
		if (!str_eq(e->key, "command") && !str_eq(e->key, "args"))
			r = str_appendf(out, "%s%.100s", n++ ? ", " : "; it has besides: ", e->key);
	return r;
}

static int toml_add_server(const struct client *client, const struct strv *argv, bool force,
			   const struct str *text, struct str *ret_text, struct err *err)
{
	_cleanup_(str_release) struct str command = {0}, args = {0}, others = {0};
	_cleanup_(toml_freep) struct toml *doc = NULL;
	const char *path[] = {client->list, CLIENT_ENTRY, "command"};
	const struct toml_value *entry;
	int r = open_toml(text, &doc, err);

	if (r < 0)
		return r;
	if (quote(argv->items[0], &command) < 0 ||
	    quote_list(argv->items + 1, argv->len - 1, &args) < 0)
		return err_oom(err);
	entry = toml_get(toml_root(doc), client->list);
	entry = entry ? toml_get(entry, CLIENT_ENTRY) : NULL;
	if (entry && list_others(entry, &others) < 0)
		return err_oom(err);
	if (entry && others.len == 0 && says(entry, "command", str_text(&command)) &&
	    says(entry, "args", str_text(&args)))
		return 0;
	if (entry && !force)
		return err_set(err, ERR_CONFIG, -EEXIST, "%s.%s is there already, and differs%s",
			       client->list, CLIENT_ENTRY, str_text(&others));
	if (entry)
		r = toml_unset(doc, path, 2, err);
	if (r == 0)
		r = toml_set(doc, path, 3, str_text(&command), err);
	path[2] = "args";
	if (r == 0)
		r = toml_set(doc, path, 3, str_text(&args), err);
	if (r == 0 && toml_print(doc, ret_text) < 0)
		r = err_oom(err);
	return r < 0 ? r : 1;
}

static int toml_add_rule(const struct client *client, const struct str *text, struct str *ret_text,
			 struct err *err)
{
	_cleanup_(toml_freep) struct toml *doc = NULL;
	int r = open_toml(text, &doc, err);

	if (r < 0)
		return r;
	if (says(toml_get(toml_root(doc), client->rule_path[0]), client->rule_path[1],
		 client->rule))
		return 0;
	r = toml_set(doc, client->rule_path, 2, client->rule, err);
	if (r == 0 && toml_print(doc, ret_text) < 0)
		r = err_oom(err);
	return r < 0 ? r : 1;
}

/* --- either --- */

int client_add_server(const struct client *client, const struct strv *argv, bool force,
		      const struct str *text, struct str *ret_text, struct err *err)
{
	const char *const path[] = {client->list, CLIENT_ENTRY};
	struct json_put put = {.path = path, .n = 2, .force = force, .comments = client->comments};
	int r;

	for (size_t i = 0; i < argv->len; i++)
		if (!str_is_utf8(argv->items[i], strlen(argv->items[i])))
			return err_set(err, ERR_CONFIG, -EILSEQ,
				       "%s is not UTF-8, which the file cannot hold",
				       argv->items[i]);
	if (client->is_toml)
		return toml_add_server(client, argv, force, text, ret_text, err);
	put.value = entry_json(client, argv);
	r = add_json(text, &put, ret_text, err);
	json_decref(put.value);
	return r;
}

int client_add_rule(const struct client *client, const struct str *text, struct str *ret_text,
		    struct err *err)
{
	struct json_put put = {
		.path = client->rule_path, .n = 2, .is_item = true, .comments = client->comments};
	int r;

	if (client->is_toml)
		return toml_add_rule(client, text, ret_text, err);
	put.value = json_string(client->rule);
	r = add_json(text, &put, ret_text, err);
	json_decref(put.value);
	return r;
}
