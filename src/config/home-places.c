/* SPDX-License-Identifier: MIT */
#include "config/home-places.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "config/workspace.h"

/* clang-format off */
/* Relative to a home. Those that begin with a dot count in every folder: it may be
 * somebody else's home. */
static const char *const credentials[] = {
	/* keys and agents */
	".ssh", ".gnupg", ".pki", ".password-store", ".local/share/keyrings",
	".local/share/kwalletd", ".config/keepassxc", ".config/Bitwarden", ".config/op",
	".config/sops", ".config/age", ".vault-token", ".Xauthority", ".ICEauthority", ".vnc",
	/* clouds and registries */
	".aws", ".azure", ".kube", ".docker", ".oci", ".boto", ".s3cfg", ".fly", ".terraform.d",
	".terraformrc", ".config/gcloud", ".config/gh", ".config/hub", ".config/glab-cli",
	".config/doctl", ".config/rclone", ".config/helm", ".config/heroku", ".config/containers",
	".config/configstore", ".netrc", ".git-credentials", ".config/git", ".sentryclirc",
	/* package managers */
	".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".config/pip", ".cargo/credentials",
	".cargo/credentials.toml", ".gem/credentials", ".local/share/uv/credentials",
	".bundle/config", ".m2/settings.xml", ".m2/settings-security.xml",
	".gradle/gradle.properties", ".composer/auth.json", ".config/composer", ".nuget/NuGet",
	".config/NuGet",
	/* databases, mail, money */
	".pgpass", ".my.cnf", ".mylogin.cnf", ".thunderbird", ".electrum", ".bitcoin", ".ethereum",
	/* browsers and what is made of them */
	".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
	".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".config/Signal",
	".config/Slack", ".config/discord", ".cache/mozilla", ".cache/google-chrome",
	".cache/chromium", ".var/app", "snap/firefox", "snap/chromium", "Library/Keychains",
};

/* Likewise: what is executed, or read as orders, outside of any boundary. */
static const char *const run_later[] = {
	".local/bin", "bin", ".config/systemd", ".config/autostart", ".config/environment.d",
	".config/fish", ".config/zsh", ".config/nvim", ".vim", ".emacs.d", ".config/emacs",
	".local/share/applications", ".local/share/systemd", ".claude", ".codex", ".cursor",
	".gemini", ".vscode", ".vscode-server", ".idea", ".config/Code", ".config/zed",
	".config/helix", ".config/mise", ".config/opencode", ".config/crush", ".aider.conf.yml",
	".cline", ".continue", ".factory", ".junie", ".kilo", ".kiro", ".opencode", ".pi", ".qwen",
	".roo", ".windsurf", ".codeium",
	/* toolchains */
	".cargo/bin", ".cargo/config", ".cargo/config.toml", ".cargo/env", ".rustup", "go/bin",
	".pyenv", ".nvm", ".volta", ".asdf", ".rbenv", ".sdkman", ".deno/bin", ".bun/bin",
	".npm-global", ".gradle/init.d", ".gradle/init.gradle",
};

/* No project is in them, nor below. */
static const char *const not_projects[] = {".config", ".local", ".cargo"};
/* clang-format on */

/* Is one of those that begin with a dot in PATH, whatever folder it is in? */
static bool is_below_any_folder(const char *path, const char *const *list, size_t len)
{
	for (const char *slash = path; slash; slash = strchr(slash + 1, '/'))
		for (size_t i = 0; slash[1] == '.' && i < len; i++)
			if (list[i][0] == '.' && path_covers(list[i], slash + 1))
				return true;
	return false;
}

/* PATH as it is called in HOME; NULL: it is elsewhere. */
static const char *name_in(const char *home, const char *path)
{
	if (!home || !path_covers(home, path))
		return NULL;
	path += strlen(home);
	return path + (*path == '/');
}

/* Is ENTRY at NAME, above or below it? */
static bool touches(const char *name, const char *entry)
{
	return name && (path_covers(entry, name) || path_covers(name, entry));
}

static bool is_listed(const char *path, const struct user *user, const char *const *list,
		      size_t len, bool anywhere)
{
	const char *name = name_in(user->home, path), *pw_name = name_in(user->pw_home, path);

	if (anywhere && is_below_any_folder(path, list, len))
		return true;
	for (size_t i = 0; (name || pw_name) && i < len; i++)
		if (touches(name, list[i]) || touches(pw_name, list[i]))
			return true;
	return false;
}

bool holds_credentials(const char *path, const struct user *user)
{
	return is_listed(path, user, credentials, array_len(credentials), true);
}

bool is_run_later(const char *path, const struct user *user, bool anywhere)
{
	return is_listed(path, user, run_later, array_len(run_later), anywhere);
}

/* ~/.NAME/worktrees/…: agents keep checkouts there. */
static bool is_worktree(const char *path, const char *home)
{
	const char *rest = home && path_covers(home, path) ? path + strlen(home) : "";

	if (rest[0] != '/' || rest[1] != '.')
		return false;
	rest = strchr(rest + 1, '/');
	return rest && strncmp(rest, "/worktrees/", 11) == 0 && rest[11];
}

static const char *reason(const char *path, const struct user *user)
{
	if (holds_credentials(path, user))
		return "credentials are kept there";
	if (is_worktree(path, user->home) || is_worktree(path, user->pw_home))
		return NULL;
	if (is_run_later(path, user, false) ||
	    is_listed(path, user, not_projects, array_len(not_projects), false))
		return "programs outside of the boundary act on what is there";
	return NULL;
}

static bool is_below(const char *path, const char *home)
{
	return !home || path_covers(home, path);
}

const char *not_a_project(const char *path, const struct user *user)
{
	_cleanup_(freep) char *home = NULL, *pw_home = NULL;
	const char *why = reason(path, user);
	struct user real;

	/* PATH has no link in it, and so has a home that it begins with. */
	if (why || (is_below(path, user->home) && is_below(path, user->pw_home)))
		return why;
	if ((user->home && user_path_resolve(user, user->home, &home) < 0) ||
	    (user->pw_home && user_path_resolve(user, user->pw_home, &pw_home) < 0))
		return "whether it is a place of your home cannot be looked up";
	real = (struct user){.home = home, .pw_home = pw_home};
	return reason(path, &real);
}
