/* SPDX-License-Identifier: MIT */
/* sandbox-table - the sandbox that a client describes, as TOML. */
#pragma once
#include <jansson.h>

struct rpc_error;
struct str;

/* SANDBOX is a preset's name, an object, or NULL, which is PRESET; TIMEOUT may be NULL. What
 * is appended is a name, an inline table, or nothing. Whether its values are right the verb
 * will see. */
int sandbox_table(json_t *sandbox, const char *timeout, const char *preset, struct str *out,
		  struct rpc_error *error);
