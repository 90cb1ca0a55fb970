/* SPDX-License-Identifier: MIT */
/* check - one document against the tables of keys. */
#pragma once
#include "config/load.h"

/* FILE names it in errors. Unknown keys, wrong types, values out of range, and
 * keys that LAYER may not hold are ERR_CONFIG. */
int config_check(const struct toml *doc, const char *file, enum layer layer, struct err *err);
/* The same for a document that is one spec: the keys of [commands.NAME.sandbox]. */
int config_check_spec(const struct toml *doc, const char *file, struct err *err);
