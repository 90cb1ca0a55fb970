/* SPDX-License-Identifier: MIT */
/* files - a workspace in a scratch folder, and its configuration from texts. */
#pragma once
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "config/load.h"
#include "config/workspace.h"
#include "scratch.h"

static struct user test_user;
static struct workspace test_ws;

static inline void files_enter(void)
{
	char *real;

	umask(022);
	scratch_enter();
	real = realpath(scratch_path, NULL);
	snprintf(scratch_path, sizeof(scratch_path), "%s", real);
	free(real);
	mkdir("ws", 0755);
	mkdir("ws/sub", 0755);
	test_user = (struct user){
		.uid = geteuid(),
		.gid = getegid(),
		.home = strdup("/home/u"),
		.state_dir = str_printf("%s/state", scratch_path),
	};
	test_ws = (struct workspace){
		.root = str_printf("%s/ws", scratch_path),
		.cwd = str_printf("%s/ws/sub", scratch_path),
		.state_dir = str_printf("%s/state/ws-123456", scratch_path),
	};
}

static inline void files_leave(void)
{
	user_release(&test_user);
	workspace_release(&test_ws);
	scratch_leave();
}

/* NULL: no such file. */
static inline int files_load(const char *system, const char *user, const char *workspace,
			     struct config *ret, struct err *err)
{
	if (system)
		scratch_write("sys.toml", system);
	if (user)
		scratch_write("user.toml", user);
	if (workspace)
		scratch_write("ws/pale.toml", workspace);
	return config_load(system ? "sys.toml" : NULL, user ? "user.toml" : NULL,
			   workspace ? "ws/pale.toml" : NULL, ret, err);
}
