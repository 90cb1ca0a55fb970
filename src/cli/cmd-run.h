/* SPDX-License-Identifier: MIT */
/* cmd-run - pale run and pale shell, the verbs in `pale` itself. */
#pragma once
#include "api/verbs.h"

/* ID: VERB_RUN or VERB_SHELL. */
int cmd_run(enum verb_id id, int argc, char **argv);
