/* SPDX-License-Identifier: MIT */
#include "view/toml-json.h"

#include "base/json.h"
#include "config/toml.h"

void toml_json(const struct toml_value *value, const char *key, struct json *json)
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
			toml_json(value->array.items[i], NULL, json);
		json_end_array(json);
		return;
	case TOML_TABLE:
		json_begin_object(json, key);
		for (const struct toml_entry *e = value->table.first; e; e = e->next)
			toml_json(e->value, e->key, json);
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
