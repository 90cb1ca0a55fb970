/* SPDX-License-Identifier: MIT */
/* What parses prints itself, and stays TOML through a set and an unset. */
#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "config/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		__builtin_trap();
}

static void must_print(const struct toml *doc, const void *text, size_t len)
{
	_cleanup_(str_release) struct str out = {0};

	must(toml_print(doc, &out) == 0 && out.len == len &&
	     (len == 0 || memcmp(out.data, text, len) == 0));
}

/* Set PATH; when that is accepted, the value must be there, and an unset must
 * take it away. */
static void edit(struct toml *doc, const char *const *path, size_t n)
{
	const struct toml_value *value = toml_root(doc);

	if (toml_set(doc, path, n, "[4711]", NULL) < 0)
		return;
	value = toml_root(doc);
	for (size_t i = 0; i < n; i++)
		value = toml_get(value, path[i]);
	must(value && value->type == TOML_ARRAY && value->array.len == 1 &&
	     value->array.items[0]->integer == 4711);
	must(toml_unset(doc, path, n, NULL) == 0);
	value = toml_root(doc);
	for (size_t i = 0; i < n; i++)
		value = toml_get(value, path[i]);
	must(!value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	_cleanup_(toml_freep) struct toml *doc = NULL;
	const struct toml_value *table;
	const char *path[8] = {0};
	size_t n = 0;

	if (toml_parse(text, size, &doc, NULL, NULL) < 0)
		return 0;
	must_print(doc, text, size);
	/* Follow the last entries down, and edit at every level; the keys are
	 * copied because an edit makes the tree anew. */
	table = toml_root(doc);
	while (n + 2 < array_len(path) && table->type == TOML_TABLE && table->table.last &&
	       strlen(table->table.last->key) == table->table.last->key_len) {
		path[n++] = strdup(table->table.last->key);
		table = table->table.last->value;
	}
	for (size_t len = n + 1; len-- > 0;) {
		const char *inside[9];

		memcpy(inside, path, sizeof(path));
		inside[len] = "added";
		inside[len + 1] = "deeper";
		edit(doc, inside, len + 1);
		edit(doc, inside, len + 2);
		edit(doc, path, len);
	}
	for (size_t i = 0; i < n; i++)
		free((void *)path[i]);
	return 0;
}
