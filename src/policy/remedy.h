/* SPDX-License-Identifier: MIT */
/*
 * remedy - the smallest rule under which a refused attempt would have passed.
 *
 * A spec and what was attempted go in, a change of one key comes out; the host is
 * only asked where links lead and what exists. It never opens `/`, a whole home, a
 * credential or pale's own files, nor what is refused in every sandbox. Ceilings
 * are not its business: whoever writes the rule down resolves it again.
 */
#pragma once
#include <stdbool.h>

#include "policy/spec.h"

struct err;
struct user;

struct remedy {
	bool possible;
	bool allowed; /* not possible, since the spec allows it: something else refused it */
	enum dim dim; /* the key to change; DIM_COUNT_: none, `option` does it alone */
	char *value;  /* TOML of its new value: "\"localhost\"", or of the item to add;
			    a path is relative to the workspace, or begins with ~/ or / */
	bool is_item; /* `value` is to be added to a list */
	struct {
		enum dim dim;
		const char *value; /* TOML; static */
	} also[2];                 /* keys that have to be set with it, in a file */
	size_t also_len;
	char *option;    /* "--write ~/out": what `pale run` takes, as typed in a shell */
	char *opens;     /* one sentence, without a full stop: what becomes possible */
	const char *why; /* not possible: the reason, likewise; static */
};

/* DIMENSION, OP and TARGET as in struct violation. TARGET may be NULL. A RULE that
 * can never be is no failure: `possible` says so. -ENOMEM is the only one. */
int remedy_find(const struct spec *spec, const struct user *user, const char *dimension,
		const char *op, const char *target, struct remedy *ret, struct err *err);
/* Is TARGET, of an attempt to connect, where names are asked for? No rule for it would help. */
bool remedy_is_name_server(const char *target);
void remedy_release(struct remedy *remedy);
