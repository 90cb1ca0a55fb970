/* SPDX-License-Identifier: MIT */
#include "policy/protected-names.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

/* clang-format off */
const char *const protected_names[] = {
	/* policy */
	"pale.toml", ".paleignore",
	/* executed by whoever enters the folder, or makes it a home */
	".envrc",
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
	".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc", ".xprofile",
	/* editors: programs that they start, or what they execute themselves */
	".vscode", ".idea", ".zed", ".helix", ".devcontainer", ".devcontainer.json",
	".vimrc", ".gvimrc", ".exrc",
	/* agents: servers, plugins and hooks that they start */
	".mcp.json", ".claude", ".codex", ".cursor", ".gemini", ".aider.conf.yml", ".amazonq",
	".cline", ".clinerules", ".continue", ".crush.json", "crush.json", ".factory", ".junie",
	".kilo", ".kilocode", "kilo.json", "kilo.jsonc", ".kiro", ".opencode", "opencode.json",
	"opencode.jsonc", ".pi", ".qwen", ".roo", ".windsurf",
	/* git: core.hooksPath is .husky/_, where nothing is but calls of what lies beside it */
	".husky",
	NULL,
};
/* clang-format on */

/* What git executes, or is told by what to execute and where to push to. */
const char *const protected_git_names[] = {"config",  "config.worktree", "hooks", "commondir",
					   "remotes", "branches",        NULL};

/* hg is run by editors and prompts wherever they see an .hg; jj is not. */
const struct protected_folder protected_folders[] = {
	{".hg", true, {"hgrc", "hgrc-not-shared", "sharedpath", NULL}},
	{".jj", false, {"repo/config.toml", NULL}},
	{NULL, false, {NULL}},
};

/* Is PATH one of the folder's, or below one? */
static bool is_inner(const struct protected_folder *folder, const char *path)
{
	for (const char *const *inner = folder->inner; *inner; inner++) {
		size_t len = strlen(*inner);

		if (strncmp(path, *inner, len) == 0 && (path[len] == '/' || !path[len]))
			return true;
	}
	return false;
}

static bool is_in_folder(const char *relative, size_t len)
{
	for (const struct protected_folder *folder = protected_folders; folder->name; folder++)
		if (relative[len] == '/' && strlen(folder->name) == len &&
		    memcmp(folder->name, relative, len) == 0)
			return is_inner(folder, relative + len + 1);
	return false;
}

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

	if (is_in(protected_names, relative, len) || is_in_folder(relative, len))
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

/* Nothing to see: soft hyphens, marks on letters, signs of width and direction. */
static bool is_invisible(uint32_t c)
{
	return c == 0xad || (c >= 0x300 && c <= 0x36f) || c == 0x61c ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff;
}

/* The letter that C may be taken for; 0: none but itself. */
static char likeness(uint32_t c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c | 0x20);
	if (c >= 0xff01 && c <= 0xff5e) /* full width */
		return likeness(c - 0xfee0) ? likeness(c - 0xfee0) : (char)(c - 0xfee0);
	switch (c) {
	case 0x130: /* I with a dot */
	case 0x131: /* i without one */
		return 'i';
	case 0x17f: /* long s */
		return 's';
	case 0x212a: /* Kelvin */
		return 'k';
	default:
		return 0;
	}
}

static void trim_name(struct str *out, size_t begin)
{
	size_t len = out->len;

	while (len > begin && (out->data[len - 1] == '.' || out->data[len - 1] == ' '))
		len--;
	if (len > begin)
		str_truncate(out, len);
}

static int fold_name(const char *name, size_t len, struct str *out)
{
	size_t begin = out->len;
	int r = 0;

	for (size_t i = 0, n; i < len && r == 0; i += n ? n : 1) {
		uint32_t c = 0;
		char like;

		n = str_utf8_next(name + i, len - i, &c);
		like = n ? likeness(c) : 0;
		if (like)
			r = str_append_char(out, like);
		else if (n == 0 || !is_invisible(c))
			r = str_append_bytes(out, name + i, n ? n : 1);
	}
	if (r == 0)
		trim_name(out, begin);
	if (r == 0 && out->len - begin == 5 && memcmp(out->data + begin, "git~1", 5) == 0) {
		str_truncate(out, begin);
		r = str_append(out, ".git");
	}
	return r;
}

int protected_fold(const char *path, struct str *out)
{
	int r = str_append(out, "");

	while (*path && r == 0) {
		size_t len = strcspn(path, "/");

		r = fold_name(path, len, out);
		path += len;
		if (r == 0 && *path) {
			r = str_append_char(out, '/');
			path++;
		}
	}
	return r;
}

bool protected_is_alike(const char *relative)
{
	_cleanup_(str_release) struct str folded = {0};

	return protected_is_named(relative) || protected_fold(relative, &folded) < 0 ||
	       protected_is_named(str_text(&folded));
}
