/* SPDX-License-Identifier: MIT */
/*
 * remedy - the smallest rule under which a refused attempt would have passed.
 *
 * Pure: a spec and what was attempted go in, a change of one key comes out. It
 * never opens `/`, a whole home, a credential or pale's own files, and never
 * proposes what a ceiling or an always-on protection forbids.
 */
#pragma once
#include <stdbool.h>

#include "policy/spec.h"

struct err;
struct user;

struct remedy {
	bool possible;
	enum dim dim;    /* the key to change */
	char *value;     /* TOML of its new value: "\"localhost\"", or of the item to add */
	bool is_item;    /* `value` is to be added to a list */
	char *option;    /* "--write src/gen": what `pale run` takes */
	char *opens;     /* one sentence: what else would become possible */
	const char *why; /* not possible: the reason, one sentence; static */
};

/* DIMENSION, OP and TARGET as in struct violation. */
int remedy_find(const struct spec *spec, const struct user *user, const char *dimension,
		const char *op, const char *target, struct remedy *ret, struct err *err);
void remedy_release(struct remedy *remedy);
