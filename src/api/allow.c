/* SPDX-License-Identifier: MIT */
#include "api/allow.h"

#include <errno.h>
#include <string.h>

#include "api/context.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "config/check.h"
#include "policy/lattice.h"
#include "policy/remedy.h"
#include "policy/resolve.h"

struct rule {
	const struct context *context;
	enum layer layer;
	const char *file;
	struct toml *doc;
	const char *command;
	const struct remedy *remedy;
	struct resolved before;
	struct err *err;
};

/* The value in the file that is edited, or NULL. */
static const struct toml_value *here(const struct rule *rule, const char *key)
{
	const struct toml_value *value = toml_get(toml_root(rule->doc), "commands");

	value = value ? toml_get(value, rule->command) : NULL;
	value = value ? toml_get(value, "sandbox") : NULL;
	return value && key ? toml_get(value, key) : value;
}

/* The text of LIST with the item behind its last one: what stands between stays, and so do
 * comments in one that is empty. */
static int extend_text(const struct rule *rule, const struct toml_value *list, struct str *ret)
{
	_cleanup_(str_release) struct str text = {0};
	bool first = list->array.len == 0;
	size_t at = first ? list->end - 1 : list->array.items[list->array.len - 1]->end;
	int r = toml_print(rule->doc, &text);

	if (r == 0 && first && !memchr(text.data + list->start, '#', at - list->start))
		return str_appendf(ret, "[%s]", rule->remedy->value);
	if (r == 0)
		r = str_append_bytes(ret, text.data + list->start, at - list->start);
	if (r == 0)
		r = str_appendf(ret, "%s%s", first ? "" : ", ", rule->remedy->value);
	return r < 0 ? r : str_append_bytes(ret, text.data + at, list->end - at);
}

/* Lists of other files are replaced, not added to: what they hold is written again,
 * paths of the workspace as such. */
static int inherit_text(const struct rule *rule, struct str *ret)
{
	const struct strv *list = spec_list_const(&rule->before.spec, rule->remedy->dim);
	const char *root = rule->context->workspace.root;
	bool numbers = spec_keys[rule->remedy->dim].type == KEY_PORTS;
	int r = str_append_char(ret, '[');

	for (size_t i = 0; r == 0 && i < list->len; i++) {
		const char *item = list->items[i];

		if (spec_keys[rule->remedy->dim].type == KEY_PATHS && path_covers(root, item) &&
		    item[strlen(root)] == '/' && !strchr("~$", item[strlen(root) + 1]))
			item += strlen(root) + 1;
		r = numbers ? str_append(ret, item) : toml_quote(ret, item, strlen(item));
		if (r == 0)
			r = str_append(ret, ", ");
	}
	return r < 0 ? r : str_appendf(ret, "%s]", rule->remedy->value);
}

/* What the key becomes, as TOML. */
static int value_text(const struct rule *rule, struct str *ret)
{
	const struct toml_value *list = here(rule, dim_name(rule->remedy->dim));

	if (!rule->remedy->is_item)
		return str_append(ret, rule->remedy->value);
	return list && list->type == TOML_ARRAY ? extend_text(rule, list, ret)
						: inherit_text(rule, ret);
}

/* The preset that a table has to start from, to mean what holds now; NULL: a table of
 * its own, here or in a farther file, goes on. */
static const char *base_preset(const struct rule *rule)
{
	const char *const path[] = {"commands", rule->command, "sandbox", NULL};
	struct setting own;

	if (config_get(&rule->context->config, path, &own) && own.value->type == TOML_TABLE)
		return NULL;
	return rule->before.sandbox;
}

/* What a project calls so means nothing, or something else, in the others. */
static int check_base(const struct rule *rule, const char *base)
{
	const char *const path[] = {"presets", base, NULL};
	struct setting preset;
	char where[ORIGIN_TEXT_MAX];

	if (rule->layer == LAYER_WORKSPACE ||
	    !config_get_at(&rule->context->config, LAYER_WORKSPACE, path, &preset))
		return 0;
	err_set(rule->err, ERR_POLICY, -EPERM,
		"a rule in %s would hold in every workspace, and '%s', which it would start from, is "
		"a preset of this one (%s)",
		rule->file, base, origin_text(&preset.origin, where, sizeof(where)));
	return err_hint(rule->err, -EPERM, "use --project");
}

static int put_change(const char *const *path, size_t n, const char *value, struct str *ret)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		r = i ? str_append_char(ret, '.') : 0;
		if (r == 0)
			r = toml_key_quote(ret, path[i], strlen(path[i]));
	}
	return r < 0 ? r : str_appendf(ret, " = %s", value);
}

/* What has to be set with it, in a table that is there. */
static int write_also(const struct rule *rule, struct str *ret_change)
{
	int r = 0;

	for (size_t i = 0; i < rule->remedy->also_len && r == 0; i++) {
		const char *value = rule->remedy->also[i].value;
		const char *const path[] = {"commands", rule->command, "sandbox",
					    dim_name(rule->remedy->also[i].dim)};

		if (put_change(path, array_len(path), value, ret_change) < 0 ||
		    str_append(ret_change, ", ") < 0)
			return err_oom(rule->err);
		r = toml_set(rule->doc, path, array_len(path), value, rule->err);
	}
	return r;
}

static int write_rule(const struct rule *rule, struct str *ret_change)
{
	const char *key = dim_name(rule->remedy->dim), *base = base_preset(rule);
	const char *const path[] = {"commands", rule->command, "sandbox", key};
	size_t n = base ? 3 : 4;
	_cleanup_(str_release) struct str value = {0};
	int r = 0;

	if (base) {
		r = check_base(rule, base);
		if (r < 0)
			return r;
		r = str_append(&value, "{ base = ");
		if (r == 0)
			r = toml_quote(&value, base, strlen(base));
		for (size_t i = 0; i < rule->remedy->also_len && r == 0; i++)
			r = str_appendf(&value, ", %s = %s", dim_name(rule->remedy->also[i].dim),
					rule->remedy->also[i].value);
		if (r == 0)
			r = str_appendf(&value, ", %s = ", key);
	} else {
		r = write_also(rule, ret_change);
		if (r < 0)
			return r;
	}
	if (r == 0)
		r = value_text(rule, &value);
	if (r == 0 && base)
		r = str_append(&value, " }");
	if (r == 0)
		r = put_change(path, n, str_text(&value), ret_change);
	if (r == -EILSEQ)
		return err_set(rule->err, ERR_CONFIG, r,
			       "%s holds a name that is not UTF-8, which TOML cannot hold", key);
	if (r < 0)
		return err_oom(rule->err);
	return toml_set(rule->doc, path, n, str_text(&value), rule->err);
}

/* Who else says what the key is, when the rule changes nothing. */
static int no_effect(const struct rule *rule)
{
	const char *const keys[][5] = {
		{"commands", rule->command, "sandbox", dim_name(rule->remedy->dim), NULL},
		{"commands", rule->command, "sandbox", NULL},
	};
	char where[ORIGIN_TEXT_MAX];
	struct setting setting;

	for (size_t i = 0; i < array_len(keys); i++) {
		if (!config_get(&rule->context->config, keys[i], &setting) ||
		    setting.layer <= rule->layer)
			continue;
		err_set(rule->err, ERR_POLICY, -EPERM,
			"a rule in %s would change nothing: %s is closer", rule->file,
			origin_text(&setting.origin, where, sizeof(where)));
		return err_hint(rule->err, -EPERM, "use --project");
	}
	return err_set(rule->err, ERR_POLICY, -EPERM, "a rule in %s would change nothing",
		       rule->file);
}

/* Resolve the sandbox with the file as it would be. */
static int check_rule(const struct rule *rule, struct config *with)
{
	const struct context *context = rule->context;
	_cleanup_(resolved_release) struct resolved after = {0};
	dim_set excess, wanted = DIM_BIT(rule->remedy->dim);
	int r = config_check(rule->doc, rule->file, rule->layer, rule->err);

	if (r == 0)
		r = spec_resolve(with, rule->command, NULL, &context->workspace, &context->user,
				 &after, rule->err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < rule->remedy->also_len; i++)
		wanted |= DIM_BIT(rule->remedy->also[i].dim);
	excess = spec_excess(&after.spec, &rule->before.spec);
	if (!(excess & DIM_BIT(rule->remedy->dim)))
		return no_effect(rule);
	if (excess & ~wanted || spec_excess(&rule->before.spec, &after.spec))
		return err_set(rule->err, ERR_POLICY, -EPERM, "the rule would change more than %s",
			       dim_name(rule->remedy->dim));
	return 0;
}

static int read_trust(const struct rule *rule, const struct config *with, struct allowed *ret)
{
	const struct context *context = rule->context;
	struct trust_ask ask = {0};
	int r = trust_ask_compute(with, &context->workspace, &context->user, &ask, rule->err);

	if (r == 0)
		r = trust_read(&ask, &context->workspace, &ret->trust, rule->err);
	for (size_t i = 0; i < ask.len && r == 0; i++)
		if (str_appendf(&ret->asks, "%s\n", ask.items[i].text) < 0)
			r = err_oom(rule->err);
	trust_ask_release(&ask);
	return r;
}

int allow_rule(const struct context *context, enum layer layer, const char *file, struct toml *doc,
	       const char *command, const struct remedy *remedy, struct allowed *ret,
	       struct err *err)
{
	_cleanup_(allowed_release) struct allowed out = {0};
	struct rule rule = {.context = context,
			    .layer = layer,
			    .file = file,
			    .doc = doc,
			    .command = command,
			    .remedy = remedy,
			    .err = err};
	struct config with = context->config;
	int r = spec_resolve(&context->config, command, NULL, &context->workspace, &context->user,
			     &rule.before, err);

	if (r == 0)
		r = write_rule(&rule, &out.change);
	/* borrowed: neither is released */
	with.files[layer] = (struct config_file){.path = (char *)file, .doc = doc};
	if (r == 0)
		r = check_rule(&rule, &with);
	if (r == 0)
		r = read_trust(&rule, &with, &out);
	resolved_release(&rule.before);
	if (r < 0)
		return r;
	*ret = out;
	out = (struct allowed){0};
	return 0;
}

void allowed_release(struct allowed *allowed)
{
	str_release(&allowed->change);
	str_release(&allowed->asks);
	*allowed = (struct allowed){0};
}
