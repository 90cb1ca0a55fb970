/* SPDX-License-Identifier: MIT */
#include "cli/edit-sandbox.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "api/edit.h"
#include "config/toml.h"
#include "learn/suggest.h"
#include "learn/tighten.h"

static const struct toml_value *command_of(const struct edit *edit, const char *name)
{
	const struct toml_value *commands = toml_get(toml_root(edit->doc), "commands");

	return commands ? toml_get(commands, name) : NULL;
}

/* Behind the last line of a command that has a header; 0: it has none. */
static size_t place_behind(const struct toml_value *command, const struct str *text)
{
	const char *newline;
	size_t end = 0;

	if (command->origin != TOML_FROM_HEADER)
		return 0;
	for (const struct toml_entry *e = command->table.first; e; e = e->next)
		if (e->value->end > end)
			end = e->value->end;
	newline = end ? memchr(text->data + end, '\n', text->len - end) : NULL;
	if (!newline)
		return end ? text->len : 0;
	return (size_t)(newline - text->data) + 1;
}

static bool ends_in_newline(const struct str *text)
{
	return text->len == 0 || text->data[text->len - 1] == '\n';
}

static int insert_table(struct edit *edit, const char *name, const char *table, struct err *err)
{
	_cleanup_(str_release) struct str before = {0}, text = {0};
	size_t at;
	int r = toml_print(edit->doc, &before);

	if (r < 0)
		return err_oom(err);
	at = place_behind(command_of(edit, name), &before);
	if (at == 0)
		at = before.len;
	r = str_append_bytes(&text, str_text(&before), at);
	if (r == 0 && !ends_in_newline(&text))
		r = str_append_char(&text, '\n');
	if (r == 0)
		r = str_appendf(&text, "\n%s", table);
	if (r == 0 && at < before.len)
		r = str_append_bytes(&text, before.data + at, before.len - at);
	return r < 0 ? err_oom(err) : edit_restart(edit, str_text(&text), text.len, err);
}

/* Key by key, in whatever form the command has. */
static int insert_keys(struct edit *edit, const char *name, const struct suggestion *suggestion,
		       struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < suggestion->lines_len && r == 0; i++) {
		const struct suggest_line *line = &suggestion->lines[i];
		const char *const path[] = {"commands", name, "sandbox", dim_name(line->dim)};

		r = toml_set(edit->doc, path, array_len(path), line->value, err);
	}
	return r;
}

int edit_sandbox_replace(struct edit *edit, const char *name, const struct suggestion *suggestion,
			 struct err *err)
{
	_cleanup_(str_release) struct str table = {0};
	int r = edit_command(edit, name, "sandbox", NULL, err);

	if (r < 0)
		return r;
	if (suggestion_toml(suggestion, name, &table) < 0)
		return err_oom(err);
	if (command_of(edit, name)->origin == TOML_FROM_VALUE)
		return insert_keys(edit, name, suggestion, err);
	return insert_table(edit, name, str_text(&table), err);
}

static int put_limit(const struct tightened *item, struct str *out)
{
	int r = str_append_char(out, '"');

	if (r == 0)
		r = limit_put(item->dim, item->after, out);
	return r < 0 ? r : str_append_char(out, '"');
}

static int set_limits(struct edit *edit, const char *name, const struct tightening *tightening,
		      struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < LEARNED_LIMITS && r == 0; i++) {
		const struct tightened *item = &tightening->items[i];
		const char *const path[] = {"commands", name, "sandbox", dim_name(item->dim)};
		_cleanup_(str_release) struct str value = {0};

		if (item->after == item->before)
			continue;
		if (put_limit(item, &value) < 0)
			return err_oom(err);
		r = toml_set(edit->doc, path, array_len(path), str_text(&value), err);
	}
	return r;
}

static int put_inline(const char *base, const struct tightening *tightening, struct str *out)
{
	int r = str_append(out, "{ base = ");

	if (r == 0)
		r = toml_quote(out, base, strlen(base));
	for (size_t i = 0; i < LEARNED_LIMITS && r == 0; i++) {
		const struct tightened *item = &tightening->items[i];

		if (item->after == item->before)
			continue;
		r = str_appendf(out, ", %s = ", dim_name(item->dim));
		if (r == 0)
			r = put_limit(item, out);
	}
	return r < 0 ? r : str_append(out, " }");
}

int edit_sandbox_limits(struct edit *edit, const char *name, const char *base,
			const struct tightening *tightening, struct err *err)
{
	const struct toml_value *command = command_of(edit, name);
	const struct toml_value *sandbox = command ? toml_get(command, "sandbox") : NULL;
	const char *const path[] = {"commands", name, "sandbox"};
	_cleanup_(str_release) struct str value = {0};

	if (sandbox && sandbox->type == TOML_TABLE)
		return set_limits(edit, name, tightening, err);
	if (put_inline(base, tightening, &value) < 0)
		return err_oom(err);
	return toml_set(edit->doc, path, array_len(path), str_text(&value), err);
}
