/* SPDX-License-Identifier: MIT */
/* refusals - what a client tried and may not: into the ring and the history. */
#include <stdio.h>
#include <string.h>

#include "api/pale-impl.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "config/state-dir.h"
#include "mcp/impl.h"
#include "store/record.h"
#include "store/spool.h"

static int store(const struct server *server, const struct deed *deed, struct err *err)
{
	_cleanup_(str_release) struct str line = {0};
	_cleanup_(fd_closep) int state = state_dir_open(server->setup.place, true, err);

	if (state < 0)
		return state;
	return record_deed(deed, &line) < 0 ? err_oom(err) : spool_append(state, &line, err);
}

void refusal_remember(struct server *server, const struct tool *tool)
{
	bool applies = tool - tools == TOOL_APPLY;
	size_t which = (size_t)(tool - tools);
	uint64_t now = clock_mono_ns();
	struct err err = {0};
	char id[96], code[64];
	struct deed deed = {
		.id = id,
		.kind = applies ? "apply.refused" : "sandbox.denied",
		.severity = "warning",
		.code = code,
		.stage = server->session.stage,
		.time_ms = clock_wall_ms(),
	};

	snprintf(code, sizeof(code), "mcp.%s", tool->name);
	snprintf(id, sizeof(id), "%s-%llx-%u", deed.kind, (unsigned long long)clock_mono_ns(),
		 ++server->refusals);
	context_record(
		server->ring,
		(struct pale_event){.workspace = server->workspace_hash,
				    .duration_ms = PALE_UNKNOWN,
				    .kind = applies ? PALE_EVENT_APPLY_REFUSED : PALE_EVENT_DENIED,
				    .severity = PALE_WARNING,
				    .outcome = PALE_REFUSED,
				    .count = 1},
		"");
	server->refused[which]++;
	/* The first at once; of a flood, how many. */
	if (server->refused_ns[which] && now - server->refused_ns[which] < REFUSAL_MS * 1000000ull)
		return;
	deed.changes = server->refused[which];
	server->refused[which] = 0;
	server->refused_ns[which] = now;
	if (server->setup.place && server->setup.has_history && store(server, &deed, &err) < 0)
		server_log(server, 4, "a refusal could not be written to the history: %s",
			   err.message);
}
