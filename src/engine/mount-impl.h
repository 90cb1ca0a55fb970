/* SPDX-License-Identifier: MIT */
/* mount-impl - what the operations that mount share. */
#pragma once

struct builder;
struct err;
struct op;

/* Set attributes without losing those that the source is locked to. */
int mount_set_attrs(int mount, unsigned long long attrs, int userns, unsigned flags);
/* The plan was made for a certain file: its owner, its type, its place. */
int mount_check_identity(int source, const struct op *op, struct err *err);
/* The mount of OP's source, made by the parent if only it may. The caller owns it. */
int mount_source(struct builder *b, const struct op *op, struct err *err);
/* Attach MOUNT at OP's dst. */
int mount_attach(struct builder *b, int mount, const struct op *op, struct err *err);

/* OP_OVERLAY and OP_STAGED. */
int overlay_apply(struct builder *b, const struct op *op, struct err *err);
int staged_apply(struct builder *b, const struct op *op, struct err *err);
