/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "api/context.h"
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "config/keys.h"
#include "view/table.h"
#include "view/toml-json.h"

#define DEPTH_MAX 8 /* the deepest key has five parts */

struct show {
	const struct config *config;
	struct table *table; /* either this … */
	struct json *json;   /* … or this */
	int layer;           /* one layer alone, or -1: the closest wins */
	const char *path[DEPTH_MAX + 1];
};

static int path_text(const char *const *path, struct str *out)
{
	int r = 0;

	for (size_t i = 0; r == 0 && path[i]; i++) {
		if (i > 0)
			r = str_append_char(out, '.');
		if (r == 0)
			r = toml_key_quote(out, path[i], strlen(path[i]));
	}
	return r;
}

static void put_json(const char *key, const struct toml_value *value, const struct origin *origin,
		     struct json *json)
{
	json_begin_object(json, NULL);
	json_add_string(json, "key", key);
	toml_json(value, "value", json);
	json_add_string(json, "file", origin->file);
	json_add_uint(json, "line", origin->line);
	json_end_object(json);
}

static int put(struct show *show, const char *key, const struct toml_value *value,
	       const struct origin *origin)
{
	_cleanup_(str_release) struct str line = {0};
	char buf[ORIGIN_TEXT_MAX];
	int r;

	if (show->json) {
		put_json(key, value, origin, show->json);
		return 0;
	}
	r = str_appendf(&line, "%s = ", key);
	if (r == 0)
		r = toml_value_print(value, &line);
	if (r == 0)
		r = table_add(show->table, str_text(&line));
	if (r == 0 && show->table->columns > 1)
		r = table_add(show->table, origin_text(origin, buf, sizeof(buf)));
	return r;
}

static bool get(const struct show *show, struct setting *ret)
{
	if (show->layer >= 0)
		return config_get_at(show->config, (enum layer)show->layer, show->path, ret);
	return config_get(show->config, show->path, ret);
}

static int walk(struct show *show, size_t depth)
{
	_cleanup_(strv_release) struct strv names = {0};
	int r = config_names(show->config, show->path, &names);

	for (size_t i = 0; r == 0 && depth < DEPTH_MAX && i < names.len; i++) {
		_cleanup_(str_release) struct str key = {0};
		struct setting setting;

		show->path[depth] = names.items[i];
		show->path[depth + 1] = NULL;
		/* Ceilings do not override each other: each layer's is shown. */
		if (depth == 0 && show->layer < 0 && str_eq(names.items[i], "ceiling"))
			continue;
		if (!get(show, &setting))
			continue;
		if (setting.value->type == TOML_TABLE) {
			r = walk(show, depth + 1);
			continue;
		}
		r = path_text(show->path, &key);
		if (r == 0)
			r = put(show, str_text(&key), setting.value, &setting.origin);
	}
	show->path[depth] = NULL;
	return r;
}

static int walk_ceilings(struct show *show)
{
	int r = 0;

	for (int layer = 0; r == 0 && layer < LAYER_COUNT_; layer++) {
		show->layer = layer;
		show->path[0] = "ceiling";
		show->path[1] = NULL;
		r = walk(show, 1);
	}
	show->layer = -1;
	show->path[0] = NULL;
	return r;
}

/* "a.b.c" to a path in BUF. */
static void split(const char *dotted, char *buf, size_t size, const char **path)
{
	size_t n = 0, len = strlen(dotted);

	path[0] = NULL;
	if (len >= size)
		return;
	memcpy(buf, dotted, len + 1);
	while (buf && n < DEPTH_MAX)
		path[n++] = strsep(&buf, ".");
	path[n] = NULL;
}

static int put_default(struct show *show, const struct key *key)
{
	const struct origin built_in = {.file = "built in"};
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(toml_freep) struct toml *doc = NULL;
	int r = str_appendf(&text, "default = %s", key->def);

	if (r == 0)
		r = toml_parse(text.data, text.len, &doc, NULL, NULL);
	if (r == -EINVAL)
		BUG("the default of a key is not TOML");
	return r < 0 ? r : put(show, key->path, toml_get(toml_root(doc), "default"), &built_in);
}

/* What nobody wrote. */
static int put_defaults(struct show *show)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < config_keys_len; i++) {
		const struct key *key = &config_keys[i];
		const char *path[DEPTH_MAX + 1];
		struct setting setting;
		char buf[128];

		if (!key->def || strchr(key->path, '*') || str_starts(key->path, "ceiling"))
			continue;
		split(key->path, buf, sizeof(buf), path);
		if (!config_get(show->config, path, &setting))
			r = put_default(show, key);
	}
	return r;
}

int cmd_config_show(int argc, char **argv)
{
	_cleanup_(context_release) struct context context = {0};
	_cleanup_(str_release) struct str out = {0};
	_cleanup_(table_release) struct table table = {.columns = 1};
	struct json json = {.out = &out, .pretty = true};
	struct show show = {.config = &context.config, .table = &table, .layer = -1};
	struct args args;
	struct err err = {0};
	int r = verb_begin(VERB_CONFIG_SHOW, argc, argv, &args, &context, &err);

	if (r > 0)
		return STATUS_OK;
	if (r < 0)
		return report(&err);
	table.columns += args.values[OPT_ORIGIN] != NULL;
	if (args.values[OPT_JSON]) {
		show.json = &json;
		json_begin_array(&json, NULL);
	}
	r = put_defaults(&show);
	if (r == 0)
		r = walk(&show, 0);
	if (r == 0)
		r = walk_ceilings(&show);
	if (r < 0)
		return report_oom();
	if (show.json) {
		json_end_array(&json);
		return emit_json(&json);
	}
	return table_print(&table, &out) < 0 ? report_oom() : emit(&out);
}
