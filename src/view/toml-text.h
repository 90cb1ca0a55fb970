/* SPDX-License-Identifier: MIT */
/* toml-text - a TOML value on one line, or as JSON. */
#pragma once
struct json;
struct str;
struct toml_value;

/* As it could be written in a file; the kinds that no key takes by their type's name. */
int toml_text_print(const struct toml_value *value, struct str *out);
void toml_text_json(const struct toml_value *value, const char *key, struct json *json);
