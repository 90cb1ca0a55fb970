/* SPDX-License-Identifier: MIT */
/* Rows of verbs[]: for agents. */
#include "api/verb-options.h"
#include "api/verb-rows.h"

const struct verb verb_mcp_serve = {
	.id = VERB_MCP_SERVE,
	.name = "mcp serve",
	.group = GROUP_SESSIONS,
	.operands = "",
	.summary = "serve agents by the Model Context Protocol",
	.details = "On standard input and output: tools to run, read, write and search, all\n"
		   "inside one sandbox of the server's own, which ends with the connection.\n"
		   "Options of the boundary are that sandbox's; with any of them the tool\n"
		   "`run` is refused, since registered commands have boundaries of their own.\n"
		   "\n"
		   "What agents get besides is listed by [mcp] expose in your own or the\n"
		   "system's pale.toml, never in the workspace's.",
	.examples = "pale mcp\n"
		    "pale mcp --staged --workspace ~/project",
	.options = options_mcp_serve,
};
