/* SPDX-License-Identifier: MIT */
#include "view/toml-text.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/str.h"
#include "config/toml.h"

static int print_array(const struct toml_value *value, struct str *out)
{
	int r = str_append_char(out, '[');

	for (size_t i = 0; r == 0 && i < value->array.len; i++) {
		if (i > 0)
			r = str_append(out, ", ");
		if (r == 0)
			r = toml_text_print(value->array.items[i], out);
	}
	return r < 0 ? r : str_append_char(out, ']');
}

static int print_table(const struct toml_value *value, struct str *out)
{
	int r = str_append_char(out, '{');

	for (const struct toml_entry *e = value->table.first; r == 0 && e; e = e->next) {
		r = str_append(out, e == value->table.first ? " " : ", ");
		if (r == 0)
			r = toml_key_quote(out, e->key, e->key_len);
		if (r == 0)
			r = str_append(out, " = ");
		if (r == 0)
			r = toml_text_print(e->value, out);
	}
	return r < 0 ? r : str_append(out, value->table.first ? " }" : "}");
}

int toml_text_print(const struct toml_value *value, struct str *out)
{
	switch (value->type) {
	case TOML_STRING:
		return toml_quote(out, value->string.bytes, value->string.len);
	case TOML_INTEGER:
		return str_appendf(out, "%" PRId64, value->integer);
	case TOML_BOOL:
		return str_append(out, value->boolean ? "true" : "false");
	case TOML_ARRAY:
		return print_array(value, out);
	case TOML_TABLE:
		return print_table(value, out);
	case TOML_FLOAT:
	case TOML_DATETIME:
	case TOML_DATETIME_LOCAL:
	case TOML_DATE_LOCAL:
	case TOML_TIME_LOCAL:
		break;
	}
	return str_appendf(out, "<%s>", toml_type_name(value->type));
}

void toml_text_json(const struct toml_value *value, const char *key, struct json *json)
{
	switch (value->type) {
	case TOML_STRING:
		json_add_string(json, key, value->string.bytes);
		return;
	case TOML_INTEGER:
		json_add_int(json, key, value->integer);
		return;
	case TOML_BOOL:
		json_add_bool(json, key, value->boolean);
		return;
	case TOML_ARRAY:
		json_begin_array(json, key);
		for (size_t i = 0; i < value->array.len; i++)
			toml_text_json(value->array.items[i], NULL, json);
		json_end_array(json);
		return;
	case TOML_TABLE:
		json_begin_object(json, key);
		for (const struct toml_entry *e = value->table.first; e; e = e->next)
			toml_text_json(e->value, e->key, json);
		json_end_object(json);
		return;
	case TOML_FLOAT:
	case TOML_DATETIME:
	case TOML_DATETIME_LOCAL:
	case TOML_DATE_LOCAL:
	case TOML_TIME_LOCAL:
		break;
	}
	json_add_null(json, key);
}
