/* SPDX-License-Identifier: MIT */
/*
 * spec-text - one spec as TOML text: how programs hand it to each other.
 *
 * The keys are those of a [commands.NAME.sandbox] table, and `workspace`, which
 * says whose `workspace_only` is meant. Printing gives every dimension, so that
 * defaults do not matter when it is read again.
 */
#pragma once
#include "config/workspace.h"
#include "policy/spec.h"

struct err;
struct str;

/* 0, -ENOMEM, or -EILSEQ: a path is not UTF-8, which TOML cannot hold. */
int spec_print(const struct spec *spec, struct str *out, struct err *err);
/* WORKSPACE: absolute and without links, or NULL: that of the text, if any; else
 * relative paths are -EINVAL. *ret is overwritten. */
int spec_parse(const char *text, const char *workspace, const struct user *user, struct spec *ret,
	       struct err *err);
/* A built-in preset, without any configuration. */
int spec_preset(const char *name, const char *workspace, const struct user *user, struct spec *ret,
		struct err *err);
/* One dimension from text; ADD appends to a list. */
int spec_set(struct spec *spec, enum dim dim, const char *text, bool add, const struct user *user,
	     struct err *err);
