/* SPDX-License-Identifier: MIT */
/* op - append operations to a plan under construction. */
#pragma once
#include "plan/plan.h"

struct protected_path;

/* Strings are copied. 0 or -ENOMEM. */
int plan_add(struct plan *plan, enum op_kind kind, const char *src, const char *dst,
	     unsigned flags);
int plan_add_bind(struct plan *plan, enum op_kind kind, const char *src, const char *dst,
		  unsigned flags, struct file_id id);
int plan_add_tmpfs_root(struct plan *plan, uint64_t size);
int plan_add_tmpfs(struct plan *plan, const char *dst, uint64_t size, mode_t mode);
int plan_add_size(struct plan *plan, enum op_kind kind, uint64_t size);
/* A private folder where the host's own files are around it: all of them share SIZE, but for bwrap. */
int plan_add_apart(struct plan *plan, const char *dst, uint64_t size, mode_t mode);
int plan_add_mode(struct plan *plan, enum op_kind kind, const char *dst, mode_t mode);
/* A folder for plan_add_guard(); NULL: no memory. */
const char *plan_guarded_dir(struct plan *plan, const char *dir);
/* DST as in struct guarded. */
int plan_add_guard(struct plan *plan, const char *dir, const struct protected_path *what,
		   const char *dst);
void plan_verdict(struct plan *plan, const char *dimension, enum enforcement state, const char *by);
