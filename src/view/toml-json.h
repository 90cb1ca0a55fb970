/* SPDX-License-Identifier: MIT */
/* toml-json - a TOML value as JSON. */
#pragma once
struct json;
struct toml_value;

void toml_json(const struct toml_value *value, const char *key, struct json *json);
