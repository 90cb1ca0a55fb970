/* SPDX-License-Identifier: MIT */
#include "policy/host-group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "policy/host-rule.h"

#define TABLE "host_groups"

bool host_is_group(const char *text)
{
	return text[0] == '@';
}

static int unknown(const struct config *config, const char *name, struct err *err)
{
	_cleanup_(strv_release) struct strv names = {0};
	const char *near;

	if (config_names(config, (const char *const[]){TABLE, NULL}, &names) < 0)
		return err_oom(err);
	err_set(err, ERR_CONFIG, -ENOENT, "unknown host group \"@%.100s\"", name);
	near = str_nearest(name, (const char *const *)names.items, names.len);
	if (strchr(name, ':'))
		return err_hint(err, -ENOENT,
				"a group has the ports of its hosts: leave \"%.20s\" out",
				strchr(name, ':'));
	if (near)
		return err_hint(err, -ENOENT, "did you mean \"@%s\"?", near);
	return err_hint(err, -ENOENT,
			"define it in your own pale.toml: [host_groups] %.100s = [\"HOST\"]",
			*name ? name : "NAME");
}

static int add_rules(const struct setting *group, struct strv *rules, struct err *err)
{
	for (size_t i = 0; i < group->value->array.len; i++) {
		struct setting item = *group;
		const char *text;
		int r;

		item.value = group->value->array.items[i];
		text = item.value->string.bytes;
		if (host_is_group(text))
			r = err_hint(err,
				     err_set(err, ERR_CONFIG, -EINVAL,
					     "host groups do not hold groups (\"%.100s\")", text),
				     "write its hosts here as well");
		else
			r = host_rule_append(text, rules, err);
		if (r < 0)
			return r == -ENOMEM ? r : setting_error(&item, r, err);
	}
	return 0;
}

int host_group_expand(const struct config *config, enum layer top, const char *text,
		      struct strv *ret_rules, struct setting *ret_from, struct err *err)
{
	const char *const path[] = {TABLE, text + 1, NULL};
	_cleanup_(strv_release) struct strv rules = {0};
	struct setting group;
	bool found = false;
	int r;

	for (int layer = top; layer >= LAYER_SYSTEM && !found; layer--)
		found = config_get_at(config, (enum layer)layer, path, &group);
	if (!found)
		return unknown(config, text + 1, err);
	r = add_rules(&group, &rules, err);
	for (size_t i = 0; r == 0 && i < rules.len; i++)
		r = strv_add(ret_rules, rules.items[i]) < 0 ? err_oom(err) : 0;
	if (r == 0)
		strv_sort_unique(ret_rules);
	if (r == 0 && ret_from)
		*ret_from = group;
	return r;
}

int host_groups_check(const struct config *config, struct err *err)
{
	for (int layer = LAYER_SYSTEM; layer <= LAYER_USER; layer++) {
		struct setting groups;

		if (!config_get_at(config, (enum layer)layer, (const char *const[]){TABLE, NULL},
				   &groups))
			continue;
		for (const struct toml_entry *e = groups.value->table.first; e; e = e->next) {
			_cleanup_(strv_release) struct strv rules = {0};
			struct setting group = groups;
			int r;

			group.value = e->value;
			r = add_rules(&group, &rules, err);
			if (r < 0)
				return r;
		}
	}
	return 0;
}
