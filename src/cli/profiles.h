/* SPDX-License-Identifier: MIT */
/* profiles - what rehearsals of commands showed, in the workspace's state. */
#pragma once
#include "learn/evidence.h"

struct workspace;

/* As profiles/NAME.json, 0600. NAME is a command's. */
int profile_keep(const struct workspace *workspace, const char *name,
		 const struct evidence *evidence, struct err *err);
/* -ENOENT, err untouched: there is none, or it is about another command than DIGEST. */
int profile_find(const struct workspace *workspace, const char *name, const char *digest,
		 struct evidence *ret, struct err *err);
