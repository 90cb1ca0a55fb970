/* SPDX-License-Identifier: MIT */
#include "policy/protected-names.h"

#include <stddef.h>
#include <string.h>

/* clang-format off */
const char *const protected_names[] = {
	/* policy */
	"pale.toml", ".paleignore",
	/* executed by whoever enters the folder, or makes it a home */
	".envrc",
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
	".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc", ".xprofile",
	/* agents and editors: tools that they start */
	".mcp.json", ".claude", ".codex", ".cursor", ".gemini", ".vscode", ".idea",
	NULL,
};
/* clang-format on */

const char *const protected_git_names[] = {"config", "config.worktree", "hooks", "commondir", NULL};

/* Is NAME, up to LEN, in LIST? */
static bool is_in(const char *const *list, const char *name, size_t len)
{
	for (; *list; list++)
		if (strlen(*list) == len && memcmp(*list, name, len) == 0)
			return true;
	return false;
}

bool protected_is_named(const char *relative)
{
	size_t len = strcspn(relative, "/");
	bool inside = false;

	if (is_in(protected_names, relative, len))
		return true;
	if (len != 4 || memcmp(relative, ".git", 4) != 0)
		return false;
	for (const char *name = relative + len; *name == '/'; name += len) {
		static const char *const folders[] = {"modules", "worktrees", NULL};

		name++;
		len = strcspn(name, "/");
		if (is_in(protected_git_names, name, len))
			return true;
		/* below these are directories of git's, too */
		inside |= is_in(folders, name, len);
		if (!inside)
			return false;
	}
	return false;
}
