/* SPDX-License-Identifier: MIT */
/* three-way - a staged file and the host's, both changed, made one. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct change;
struct err;
struct index;
struct stage;
struct str;

/* Does it work? */
bool change_merges(const struct stage *stage, const struct index *index,
		   const struct change *change);
/* The merged content and mode. -EBUSY, err untouched: it does not work. */
int change_merge(const struct stage *stage, const struct index *index, const struct change *change,
		 struct str *ret_text, mode_t *ret_mode, struct err *err);
