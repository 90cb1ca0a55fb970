/* SPDX-License-Identifier: MIT */
#include "config/weight.h"

#include "config/toml.h"

enum {
	BASES_MAX = 32,   /* more are refused later, by name */
	ENTRY_BYTES = 16, /* of a rule that is not long */
};

struct scale {
	const struct toml_value *presets;
	size_t total;
};

static void add_list(struct scale *scale, const struct toml_value *list)
{
	for (size_t i = 0; i < list->array.len && scale->total <= WEIGHT_MAX; i++) {
		const struct toml_value *item = list->array.items[i];

		scale->total += 1;
		if (item->type == TOML_STRING)
			scale->total += item->string.len / ENTRY_BYTES;
	}
}

static void add_own(struct scale *scale, const struct toml_value *table)
{
	for (const struct toml_entry *e = table->table.first; e; e = e->next)
		if (e->value->type == TOML_ARRAY)
			add_list(scale, e->value);
}

/* NAME is a string, or NULL. */
static void add_preset(struct scale *scale, const struct toml_value *name)
{
	for (int i = 0; i < BASES_MAX && name; i++) {
		const struct toml_value *table = toml_get(scale->presets, name->string.bytes);

		if (!table)
			return;
		add_own(scale, table);
		name = toml_get(table, "base");
	}
}

static void add_table(struct scale *scale, const struct toml_value *table)
{
	add_own(scale, table);
	add_preset(scale, toml_get(table, "base"));
}

const struct toml_entry *weight_excess(const struct toml *doc)
{
	const struct toml_value *root = toml_root(doc);
	const struct toml_value *common = toml_get(toml_get(root, "sandbox"), "preset");
	const struct toml_value *commands = toml_get(root, "commands");
	struct scale scale = {.presets = toml_get(root, "presets")};
	const struct toml_entry *e;

	for (e = scale.presets ? scale.presets->table.first : NULL; e; e = e->next) {
		add_table(&scale, e->value);
		if (scale.total > WEIGHT_MAX)
			return e;
	}
	for (e = commands ? commands->table.first : NULL; e; e = e->next) {
		const struct toml_value *sandbox = toml_get(e->value, "sandbox");

		if (sandbox && sandbox->type == TOML_TABLE)
			add_table(&scale, sandbox);
		else
			add_preset(&scale, sandbox ? sandbox : common);
		if (scale.total > WEIGHT_MAX)
			return e;
	}
	return NULL;
}
