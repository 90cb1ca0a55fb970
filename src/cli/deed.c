/* SPDX-License-Identifier: MIT */
#include "cli/deed.h"

#include <stdio.h>

#include "api/context.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/stage-verb.h"
#include "config/state-dir.h"
#include "store/record.h"
#include "store/spool.h"

/* Of a configuration that is in error nobody knows; then nothing is remembered. */
static bool is_on(const struct user *user)
{
	static const char *const path[] = {"history", "enabled", NULL};
	_cleanup_(freep) char *file = user->config_dir ? path_join(user->config_dir, "pale.toml")
						       : NULL;
	struct config config = {0};
	struct setting setting;
	bool on;

	if (config_load(SYSTEM_CONFIG, file, NULL, &config, NULL) < 0)
		return false;
	on = !config_get(&config, path, &setting) || setting.value->boolean;
	config_release(&config);
	return on;
}

void deed_remember(const struct workspace *workspace, const struct user *user, const char *kind,
		   const char *id, const char *stage, uint64_t changes)
{
	_cleanup_(str_release) struct str line = {0};
	_cleanup_(fd_closep) int state = -1;
	struct err err = {0};
	char key[96];
	struct deed deed = {
		.id = key,
		.kind = kind,
		.severity = "info",
		.stage = stage,
		.changes = changes,
		.time_ms = clock_wall_ms(),
	};

	if (!workspace->state_dir || !is_on(user))
		return;
	snprintf(key, sizeof(key), "%s-%s", kind, id);
	state = state_dir_open(workspace, false, &err);
	if (state < 0 || record_deed(&deed, &line) < 0 || spool_append(state, &line, &err) < 0)
		say("this could not be written to the history: %s",
		    err.message[0] ? err.message : "no memory");
}
