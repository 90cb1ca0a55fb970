/* SPDX-License-Identifier: MIT */
/* cmd-file - pale file read, write, edit, grep and glob, verbs in `pale` itself. */
#pragma once
#include "api/verbs.h"
#include "files/request.h"

struct err;
struct json;
struct run;
struct str;

int cmd_file(enum verb_id id, int argc, char **argv);

/* cmd-file-show.c: REPLY is well-formed. */
/* For a reader: what was asked for goes to OUT, what is to be said besides to NOTES.
 * RAW: as it is, not made safe for a terminal. 0 or -ENOMEM. */
int file_show_text(enum file_tool tool, const struct str *reply, bool raw, struct str *out,
		   struct str *notes);
/* The members of the tool's own; not the verdict. */
int file_show_json(enum file_tool tool, const struct str *reply, struct json *json);
