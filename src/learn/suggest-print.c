/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "config/toml.h"
#include "config/value.h"
#include "config/workspace.h"
#include "learn/suggest-impl.h"

/* Not the order of the keys: what is read first stands first. */
static const enum dim order[DIM_COUNT_] = {
	DIM_FILESYSTEM, DIM_PATHS_WRITABLE, DIM_PATHS_READABLE, DIM_PATHS_HIDDEN,
	DIM_EPHEMERAL,  DIM_CACHES,         DIM_NETWORK,        DIM_HOSTS,
	DIM_PORTS,      DIM_EXPOSE,         DIM_SOCKETS,        DIM_PROCESSES,
	DIM_ENV,        DIM_ENV_PASS,       DIM_MEMORY,         DIM_CPU,
	DIM_TIMEOUT,    DIM_TMPFS,          DIM_PIDS,           DIM_DISK,
	DIM_MAX_OUTPUT, DIM_NESTED,         DIM_CONNECTIONS,    DIM_CONNECT_RATE,
	DIM_NET_SENT,   DIM_NET_RECEIVED,
};

/* As a person would write it: relative in the workspace, "~" in the home. */
static int put_path(const struct suggest_input *in, const char *path, struct str *out)
{
	_cleanup_(str_release) struct str text = {0};
	const char *workspace = in->asked->workspace, *home = in->user->home;
	int r;

	if (strcmp(path, workspace) == 0)
		r = str_append(&text, ".");
	else if (path_covers(workspace, path))
		r = str_append(&text, path + strlen(workspace) + 1);
	else if (home && path_covers(home, path))
		r = str_appendf(&text, "~%s", path + strlen(home));
	else
		r = str_append(&text, path);
	/* "~x" and "${" at the beginning would mean something else. */
	if (r == 0 && path_covers(workspace, path) && strchr("~$", *str_text(&text))) {
		str_truncate(&text, 0);
		r = str_append(&text, path);
	}
	return r < 0 ? r : toml_quote(out, str_text(&text), text.len);
}

static int put_paths(const struct suggest_input *in, const struct strv *paths, struct str *out)
{
	int r = str_append_char(out, '[');

	for (size_t i = 0; i < paths->len && r == 0; i++) {
		if (i > 0)
			r = str_append(out, ", ");
		if (r == 0)
			r = put_path(in, paths->items[i], out);
	}
	return r < 0 ? r : str_append_char(out, ']');
}

/* What [sandbox.env] passes anyway is not repeated. */
static bool is_from_files(const struct work *w)
{
	const struct strv *given = w->in->env_from_files, *pass = &w->spec->env_pass;

	if (w->spec->env != ENV_PASS || !given)
		return false;
	for (size_t i = 0; i < pass->len; i++)
		if (!strv_has(given, pass->items[i]))
			return false;
	return true;
}

static bool is_printed(const struct work *w, enum dim dim)
{
	if (dim == DIM_FILESYSTEM || dim == DIM_NETWORK || dim == DIM_PROCESSES)
		return true;
	if ((dim == DIM_ENV || dim == DIM_ENV_PASS) && is_from_files(w))
		return false;
	return !spec_dim_is_default(w->spec, dim);
}

static int add_line(struct work *w, enum dim dim, struct suggestion *out)
{
	struct suggest_line *line = &out->lines[out->lines_len];
	_cleanup_(str_release) struct str value = {0};
	int r;

	if (dim == DIM_HOSTS && w->hosts)
		r = str_append(&value, w->hosts);
	else if (spec_keys[dim].type == KEY_PATHS)
		r = put_paths(w->in, spec_list_const(w->spec, dim), &value);
	else
		r = spec_print_dim(w->spec, dim, &value);
	if (r < 0)
		return r;
	line->dim = dim;
	line->value = take_ptr(value.data);
	line->why = take_ptr(w->why[dim]);
	out->lines_len++;
	return 0;
}

int suggestion_fill(struct work *w, struct suggestion *out)
{
	int r = 0;

	for (size_t i = 0; i < array_len(order) && r == 0; i++)
		if (is_printed(w, order[i]))
			r = add_line(w, order[i], out);
	return r;
}

void suggestion_release(struct suggestion *suggestion)
{
	for (size_t i = 0; i < suggestion->lines_len; i++) {
		free(suggestion->lines[i].value);
		free(suggestion->lines[i].why);
	}
	spec_release(&suggestion->spec);
	strv_release(&suggestion->notes);
	*suggestion = (struct suggestion){0};
}

int suggestion_toml(const struct suggestion *suggestion, const char *name, struct str *out)
{
	size_t widest = 0;
	int r = str_append(out, "[commands.");

	if (r == 0)
		r = toml_key_quote(out, name, strlen(name));
	if (r == 0)
		r = str_append(out, ".sandbox]\n");
	for (size_t i = 0; i < suggestion->lines_len; i++) {
		const struct suggest_line *line = &suggestion->lines[i];
		size_t len = strlen(dim_name(line->dim)) + 3 + strlen(line->value);

		if (line->why && len > widest && len <= 40)
			widest = len;
	}
	for (size_t i = 0; i < suggestion->lines_len && r == 0; i++) {
		const struct suggest_line *line = &suggestion->lines[i];
		size_t len = strlen(dim_name(line->dim)) + 3 + strlen(line->value);

		r = str_appendf(out, "%s = %s", dim_name(line->dim), line->value);
		if (r == 0 && line->why)
			r = str_appendf(out, "%*s# %s", (int)(len < widest ? widest - len : 0) + 2,
					"", line->why);
		if (r == 0)
			r = str_append_char(out, '\n');
	}
	return r;
}

void suggestion_json(const struct suggestion *suggestion, struct json *json)
{
	spec_json(&suggestion->spec, "spec", json);
	json_begin_object(json, "lines");
	for (size_t i = 0; i < suggestion->lines_len; i++) {
		const struct suggest_line *line = &suggestion->lines[i];

		json_begin_object(json, dim_name(line->dim));
		json_add_string(json, "value", line->value);
		json_add_string(json, "why", line->why);
		json_end_object(json);
	}
	json_end_object(json);
	json_add_strv(json, "notes", &suggestion->notes);
}
