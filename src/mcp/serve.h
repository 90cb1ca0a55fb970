/* SPDX-License-Identifier: MIT */
/* serve - `pale mcp`: the server on standard input and output. */
#pragma once
#include "base/str.h"

struct err;

struct serve {
	const char *workspace; /* --workspace, or NULL */
	const char *mode;      /* "staged", "direct", or NULL: as the configuration says */
	struct strv boundary;  /* options for the session, "--network=none" */
};

/* Until the client goes. 0 or -errno. */
int mcp_serve(const struct serve *serve, struct err *err);
