/* SPDX-License-Identifier: MIT */
/* session-reach - the connection by which a command is asked for. */
#pragma once

struct err;
struct session_call;

/* To the session that CALL names; or to the workspace's own, which is started if need be. */
int session_reach_first(const struct session_call *call, struct err *err);
/* To another one of the workspace: the first ended. Or it is at SOCK, which is closed here, and ERR says
 * what has changed: then it is stopped before, unless somebody uses it. */
int session_reach_next(const struct session_call *call, int sock, struct err *err);
