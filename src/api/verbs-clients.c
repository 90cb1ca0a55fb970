/* SPDX-License-Identifier: MIT */
/* Rows of verbs[]: programs that use pale. */
#include "api/verb-options.h"
#include "api/verb-rows.h"

const struct verb verb_mcp_install = {
	.id = VERB_MCP_INSTALL,
	.name = "mcp install",
	.group = GROUP_SESSIONS,
	.operands = "",
	.summary = "add pale to the servers of an MCP client",
	.details = "Adds an entry `pale` to the client's list of servers. Everything else in\n"
		   "the file stays as it is, byte for byte; a file that cannot be read is\n"
		   "refused, with the text to put in by hand. Done again, it changes nothing.\n"
		   "\n"
		   "With --takeover the client's own rule that turns its shell tool off is\n"
		   "written as well; a client that documents none is refused.",
	.examples = "pale mcp install --client claude-code --takeover\n"
		    "pale mcp install --client codex --user --staged\n"
		    "pale mcp install --client vscode --print",
	.options = options_mcp_install,
};
