/* SPDX-License-Identifier: MIT */
/*
 * state-dir - the workspace's folder in the user's state, outside of everything
 * that a confined command can reach.
 */
#pragma once
#include <stdbool.h>

struct err;
struct workspace;

/* A descriptor of workspace->state_dir, or -errno. It must belong to the caller
 * and be writable by nobody else. With CREATE it is made (0700), parents too;
 * without, -ENOENT when it is absent or unknown, err untouched. */
int state_dir_open(const struct workspace *workspace, bool create, struct err *err);
