/* SPDX-License-Identifier: MIT */
/*
 * context - the user, the workspace and its configuration, loaded together:
 * where every verb begins.
 */
#pragma once
#include "config/load.h"
#include "config/workspace.h"

struct err;

#define SYSTEM_CONFIG "/etc/pale/pale.toml"

struct context {
	struct user user;
	struct workspace workspace;
	char *user_file;      /* where the user's file is or would be; NULL: no home */
	char *workspace_file; /* likewise */
	struct config config;
};

/* ASKED: --workspace or NULL. */
int context_load(const char *asked, struct context *ret, struct err *err);
void context_release(struct context *context);
