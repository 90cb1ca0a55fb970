/* SPDX-License-Identifier: MIT */
/* three-way - a staged file and the host's, both changed, made one. */
#pragma once
#include <sys/types.h>

struct change;
struct err;
struct index;
struct stage;
struct str;

/* The merged content and mode. -EBUSY, err untouched: it does not work. */
int change_merge(const struct stage *stage, const struct index *index, const struct change *change,
		 struct str *ret_text, mode_t *ret_mode, struct err *err);
/* The same, with the stage's index. */
int change_read_merged(const struct stage *stage, const struct change *change, struct str *ret_text,
		       mode_t *ret_mode, struct err *err);
