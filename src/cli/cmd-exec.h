/* SPDX-License-Identifier: MIT */
/* cmd-exec - verbs about sessions and the commands in them: all in `pale` itself. */
#pragma once
#include "api/verbs.h"

int cmd_exec(enum verb_id id, int argc, char **argv);
/* VERB_OUTPUT, VERB_SIGNAL, VERB_WAIT */
int cmd_job(enum verb_id id, int argc, char **argv);
int cmd_session_start(enum verb_id id, int argc, char **argv);
int cmd_session_network(enum verb_id id, int argc, char **argv);
/* VERB_SESSION_LIST, _STOP, _RM, _PRUNE */
int cmd_session(enum verb_id id, int argc, char **argv);
