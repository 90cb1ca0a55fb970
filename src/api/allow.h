/* SPDX-License-Identifier: MIT */
/*
 * allow - write one remedy into a pale.toml, and see that it opens just that.
 *
 * The rule goes into [commands.NAME.sandbox] of one file. Before anything is written
 * the command's sandbox is resolved again, with the file as it would be: it must be
 * looser in the key of the remedy and in no other, and within every ceiling.
 */
#pragma once
#include "base/str.h"
#include "config/load.h"
#include "policy/trust.h"

struct context;
struct err;
struct remedy;

struct allowed {
	struct str change; /* "commands.test.sandbox.memory = \"1g\"": what is written */
	enum trust_state trust;
	struct str asks; /* what `pale trust` would be about, line by line */
};

/* DOC is the file of LAYER, FILE its name; CONTEXT is what is loaded now. DOC is
 * changed, or on failure of no use. ERR_POLICY: a ceiling, or a closer file, forbids
 * it. */
int allow_rule(const struct context *context, enum layer layer, const char *file, struct toml *doc,
	       const char *command, const struct remedy *remedy, struct allowed *ret,
	       struct err *err);
void allowed_release(struct allowed *allowed);
