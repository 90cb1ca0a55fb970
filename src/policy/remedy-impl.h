/* SPDX-License-Identifier: MIT */
/* remedy-impl - what the files remedy*.c share. */
#pragma once
#include "policy/remedy.h"

struct attempt {
	const struct spec *spec;
	const struct user *user;
	const char *op, *target;
	struct remedy *remedy;
	struct err *err;
};

/* Each is the answer, for a caller to return. WHY: static. */
int remedy_never(const struct attempt *a, const char *why);
int remedy_allowed(const struct attempt *a, const char *why); /* the spec has nothing against it */
/* TEXT is what the option takes (NULL: it is a flag), VALUE TOML. */
int remedy_open_key(const struct attempt *a, enum dim dim, const char *value, const char *text,
		    const char *opens);
/* BEFORE, the path and AFTER say what it opens. */
int remedy_open_path(const struct attempt *a, enum dim dim, const char *path, const char *before,
		     const char *after);

/* remedy-network.c */
int remedy_find_network(const struct attempt *a);
