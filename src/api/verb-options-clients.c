/* SPDX-License-Identifier: MIT */
#include "api/verb-options-impl.h"
#include "api/verb-options.h"
#include "api/verbs.h"
#include "base/cleanup.h"

struct opt_table options_mcp_install(void)
{
	static const char *const clients[] = {"claude-code", "codex",  "gemini",
					      "cursor",      "vscode", NULL};
	static const struct opt items[] = {
		{"client", 0, "NAME", "whose configuration gets the entry", OPT_CLIENT, NULL,
		 clients},
		{"project", 0, NULL, "the workspace's own configuration of it (the default)",
		 OPT_PROJECT, NULL},
		{"user", 0, NULL, "yours, for all projects", OPT_USER, NULL},
		{"staged", 0, NULL, "have everything that the client does wait for review",
		 OPT_STAGED, NULL},
		{"takeover", 0, NULL, "turn the client's own shell off as well", OPT_TAKEOVER,
		 NULL},
		{"print", 0, NULL, "print what would be written, and write nothing", OPT_PRINT,
		 NULL},
		{"force", 'f', NULL, "replace an entry of that name which differs", OPT_FORCE,
		 NULL},
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}
