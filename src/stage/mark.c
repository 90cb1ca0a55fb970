/* SPDX-License-Identifier: MIT */
#include "stage/mark.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/path.h"
#include "base/str.h"
#include "config/workspace.h"
#include "plan/protected.h"
#include "stage/changes.h"
#include "stage/stage.h"
#include "stage/txn-order.h"

struct marker {
	const struct stage *stage;
	struct protection protection;
	bool has_protection;
};

/* What runs later on the host. FOLDER/: anything below a folder of that name
 * (components in a row), *SUFFIX: an executable file, else the last component. Case
 * does not count, since some file systems do not know it; here it is lower. */
static const struct runs_later {
	const char *names, *why;
} runs_later[] = {
	{".git/hooks/ .githooks/ .husky/", "a git hook"},
	{".git .git/config .git/config.worktree .git/info/attributes .gitattributes .gitmodules "
	 ".git/rebase-merge/ .git/rebase-apply/ .git/sequencer/",
	 "git may execute what it names"},
	{".git/objects/info/alternates", "git takes objects from where it leads"},
	{".hg .hg/hgrc .hg/hgrc-not-shared .jj .jj/repo/config.toml",
	 "hg or jj may execute what it names"},
	{".github/workflows/ .github/actions/ .gitea/workflows/ .forgejo/workflows/ .circleci/ "
	 ".buildkite/ .gitlab-ci.yml .travis.yml .drone.yml .woodpecker.yml appveyor.yml "
	 "azure-pipelines.yml bitbucket-pipelines.yml jenkinsfile .cirrus.yml",
	 "run by CI"},
	{".pre-commit-config.yaml .pre-commit-hooks.yaml prek.toml lefthook.yml lefthook.yaml "
	 "lefthook.toml lefthook.json .lefthook.yml .lefthook.yaml .lefthook.toml .lefthook.json "
	 "lefthook-local.yml lefthook-local.yaml .lefthook-local.yml .lefthook-local.yaml",
	 "run by git hooks"},
	{"mise.toml .mise.toml mise.local.toml .mise.local.toml mise/config.toml "
	 ".mise/ .config/mise/ .rvmrc",
	 "run by a shell that enters the folder"},
	{".github/hooks/ .github/mcp.json", "run by an agent"},
	{"makefile gnumakefile bsdmakefile cmakelists.txt configure configure.ac meson.build "
	 "build.ninja sconstruct wscript build build.bazel workspace module.bazel justfile "
	 "taskfile.yml rakefile gemfile build.rs cargo.toml build.gradle build.gradle.kts "
	 "settings.gradle settings.gradle.kts gradlew mvnw pom.xml build.xml build.sbt mix.exs "
	 "build.zig setup.py setup.cfg pyproject.toml conftest.py noxfile.py tox.ini "
	 "package.json .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs gulpfile.js gruntfile.js "
	 "dockerfile containerfile docker-compose.yml docker-compose.yaml compose.yml "
	 "compose.yaml vagrantfile flake.nix shell.nix default.nix .tool-versions .cargo/",
	 "run by a build"},
	{".gdbinit .lldbinit .exrc .vimrc .nvimrc .nvim.lua .dir-locals.el .tmux.conf "
	 "sitecustomize.py usercustomize.py .pythonrc .irbrc .pryrc .ssh/ .devcontainer/ .zed/ "
	 ".fleet/",
	 "run by a program that is started here"},
	{"*.sh *.bash *.zsh *.fish *.py *.pl *.rb *.js *.mjs *.cjs *.ps1 *.command *.mk *.cmake",
	 "an executable script"},
};

/* Is the component list NAME of LEN bytes in PATH, as folders of it? */
static bool has_folder(const char *path, const char *name, size_t len)
{
	for (const char *at = path; at; at = strchr(at, '/'), at += !!at)
		if (strncasecmp(at, name, len) == 0)
			return true;
	return false;
}

static bool matches(const char *path, const struct node *new, const char *name, size_t len)
{
	size_t path_len = strlen(path);

	if (name[0] == '*') {
		name++;
		len--;
		return new->type == NODE_FILE && (new->mode & 0111) &&
		       path_len > len &&strncasecmp(path + path_len - len, name, len) == 0;
	}
	if (name[len - 1] == '/' && has_folder(path, name, len))
		return true;
	if (name[len - 1] == '/') {
		if (new->type != NODE_LINK)
			return false;
		len--; /* a link in the place of the folder */
	}
	return path_len >= len && tolower((unsigned char)path[path_len - 1]) == name[len - 1] &&
	       strncasecmp(path + path_len - len, name, len) == 0 &&
	       (path_len == len || path[path_len - len - 1] == '/');
}

/* In the git directory of a submodule or of another working tree. */
static const char *find_in_git(const char *path, const struct node *new)
{
	static const char *const names[] = {
		"hooks/",        "config",     "config.worktree",        "commondir",
		"remotes/",      "branches/",  "info/attributes",        "rebase-merge/",
		"rebase-apply/", "sequencer/", "objects/info/alternates"};
	const char *at = path;

	while (at && strncasecmp(at, ".git/", 5) != 0) {
		at = strchr(at, '/');
		at += !!at;
	}
	if (at && new->type == NODE_LINK)
		return "git may write where it leads";
	for (size_t i = 0; at && i < array_len(names); i++)
		if (matches(at + 5, new, names[i], strlen(names[i])))
			return "git may execute it, or what it names";
	return NULL;
}

/* What is protected at the top is acted on further down by whoever goes there. */
static bool has_protected_name(const char *path)
{
	for (const char *const *name = protected_names; *name; name++) {
		size_t len = strlen(*name);

		for (const char *at = path; (at = strchr(at, '/'));)
			if (strncasecmp(++at, *name, len) == 0 && (!at[len] || at[len] == '/'))
				return true;
	}
	return false;
}

static bool is_program(const char *path, const struct node *new)
{
	const char *slash = strrchr(path, '/');

	return new->type == NODE_FILE &&new->mode & 0111 && !strchr(slash ? slash + 1 : path, '.');
}

static const char *find_later(const char *path, const struct node *new)
{
	const char *why;

	if (new->type == NODE_ABSENT || new->type == NODE_DIR)
		return NULL;
	for (size_t i = 0; i < array_len(runs_later); i++)
		for (const char *name = runs_later[i].names; *name;) {
			size_t len = strcspn(name, " ");

			if (matches(path, new, name, len))
				return runs_later[i].why;
			name += len + (name[len] == ' ');
		}
	why = find_in_git(path, new);
	if (!why && has_protected_name(path))
		why = "programs of the host act on it";
	return !why && is_program(path, new) ? "an executable file" : why;
}

static bool covers(const char *dir, const char *name, const char *path)
{
	size_t dir_len = strcmp(dir, "/") == 0 ? 0 : strlen(dir), len = strlen(name);

	return strncasecmp(path, dir, dir_len) == 0 && path[dir_len] == '/' &&
	       strncasecmp(path + dir_len + 1, name, len) == 0 &&
	       (!path[dir_len + 1 + len] || path[dir_len + 1 + len] == '/');
}

/* Is PATH the folder DIR, which something protected is in, or above that? */
static bool is_above(const char *path, const char *dir)
{
	size_t len = strlen(path);

	return strncasecmp(path, dir, len) == 0 && (!dir[len] || dir[len] == '/');
}

static bool is_protected(const struct marker *marker, unsigned root, const char *path,
			 const struct node *new)
{
	const struct protection *p = &marker->protection;
	const char *top = marker->stage->roots[root].path;
	_cleanup_(freep) char *full = path_join(top, path);

	if (!full)
		return true;
	if (marker->has_protection) {
		bool replaces = new->type != NODE_DIR &&new->type != NODE_ABSENT;

		for (size_t i = 0; i < p->len; i++)
			if ((p->items[i].type != PROTECTED_PARENT &&
			     covers(p->items[i].dir, p->items[i].name, full)) ||
			    (replaces && is_above(full, p->items[i].dir)))
				return true;
		return false;
	}
	/* Which directories git uses here cannot be told: all of them. */
	for (const char *const *name = protected_names; *name; name++)
		if (root == 0 && covers(top, *name, full))
			return true;
	return root != 0 || covers(top, ".git", full);
}

/* What lies in a root of its own is told by the name of that as well: that of a git directory is
 * what it is, however it is called. */
static char *name_in_root(const struct marker *marker, unsigned root, const char *path)
{
	const char *top = marker->stage->roots[root].path;

	if (root == 0)
		return strdup(path);
	return path_join(git_is_root(top) ? ".git" : path_basename(top), path);
}

unsigned marker_judge(const struct marker *marker, unsigned root, const char *path,
		      const struct node *new, const char **ret_why)
{
	_cleanup_(freep) char *shown = name_in_root(marker, root, path);
	const char *later = shown ? find_later(shown, new) : "no memory to tell";
	unsigned flags = 0;

	if (later) {
		flags |= CHANGE_RUNS_LATER;
		*ret_why = later;
	}
	if (*path && is_protected(marker, root, path, new)) {
		flags |= CHANGE_IS_PROTECTED;
		if (!later)
			*ret_why = "programs of the host act on it";
	}
	return flags;
}

int marker_new(const struct stage *stage, struct marker **ret, struct err *err)
{
	struct marker *marker = calloc(1, sizeof(*marker));
	struct user user = {0};
	struct err ignored = {0};
	bool known;

	if (!marker)
		return err_oom(err);
	marker->stage = stage;
	known = user_probe(&user, &ignored) == 0;
	marker->has_protection = stage->n_roots > 0 &&
				 protection_probe(stage->roots[0].path, known ? user.home : NULL,
						  &marker->protection, &ignored) == 0;
	if (known)
		user_release(&user);
	*ret = marker;
	return 0;
}

struct marker *marker_free(struct marker *marker)
{
	if (marker)
		protection_release(&marker->protection);
	free(marker);
	return NULL;
}
