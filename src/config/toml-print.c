/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "base/str.h"
#include "config/toml.h"

static int print_array(const struct toml_value *value, struct str *out)
{
	int r = str_append_char(out, '[');

	for (size_t i = 0; r == 0 && i < value->array.len; i++) {
		if (i > 0)
			r = str_append(out, ", ");
		if (r == 0)
			r = toml_value_print(value->array.items[i], out);
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
			r = toml_value_print(e->value, out);
	}
	return r < 0 ? r : str_append(out, value->table.first ? " }" : "}");
}

int toml_value_print(const struct toml_value *value, struct str *out)
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
