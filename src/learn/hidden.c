/* SPDX-License-Identifier: MIT */
#include "learn/hidden.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "config/workspace.h"
#include "observe/profile.h"
#include "plan/toolchains.h"
#include "policy/spec.h"

/* Of the sandbox's own: what is in them is the command's, or the kernel's. */
static const char *const kernel_dirs[] = {"/proc", "/dev", "/sys"};
static const char *const private_dirs[] = {"/tmp", "/var/tmp", "/run"};

static bool is_within(const struct strv *rules, const char *path)
{
	for (size_t i = 0; i < rules->len; i++)
		if (path_covers(rules->items[i], path))
			return true;
	return false;
}

static bool holds_any(const char *path, const struct strv *rules)
{
	for (size_t i = 0; i < rules->len; i++)
		if (path_covers(path, rules->items[i]))
			return true;
	return false;
}

static bool is_toolchain(const char *path, const char *home)
{
	size_t len = home ? strlen(home) : 0;

	if (!home || !path_covers(home, path) || !path[len])
		return false;
	for (const struct toolchain *t = toolchains; t->path; t++) {
		size_t n = strlen(t->path);

		if (strncmp(path + len + 1, t->path, n) == 0 &&
		    (path[len + 1 + n] == '/' || !path[len + 1 + n]))
			return true;
	}
	return false;
}

static bool is_shown(const struct hidden_facts *facts, const char *path)
{
	const struct spec *spec = facts->spec;

	for (size_t i = 0; i < array_len(kernel_dirs); i++)
		if (path_covers(kernel_dirs[i], path))
			return true;
	if (is_within(&spec->paths_hidden, path))
		return false;
	return spec->filesystem == FILESYSTEM_UNRESTRICTED ||
	       (spec->filesystem != FILESYSTEM_NONE && path_covers(spec->workspace, path)) ||
	       is_within(facts->shown, path) || is_within(&spec->paths_readable, path) ||
	       is_within(&spec->paths_writable, path) || is_within(&spec->caches, path) ||
	       is_toolchain(path, facts->user->home);
}

/* A folder on the way to something that is shown is there as well. */
static bool leads_to_shown(const struct hidden_facts *facts, const char *path)
{
	const struct spec *spec = facts->spec;

	for (size_t i = 0; i < array_len(private_dirs); i++)
		if (path_covers(path, private_dirs[i]))
			return true;
	return path_covers(path, spec->workspace) ||
	       (facts->user->home && path_covers(path, facts->user->home)) ||
	       holds_any(path, facts->shown) || holds_any(path, &spec->paths_readable) ||
	       holds_any(path, &spec->paths_writable) || holds_any(path, &spec->caches);
}

int hidden_find(const struct profile *profile, const struct hidden_facts *facts, struct strv *ret)
{
	int r = 0;

	for (size_t i = 0; i < profile->paths_len && r == 0; i++) {
		const struct profile_path *at = &profile->paths[i];

		if (at->path[0] != '/' || !(at->what & (PROFILE_READ | PROFILE_EXECUTE)) ||
		    at->what & PROFILE_CREATE || is_shown(facts, at->path) ||
		    leads_to_shown(facts, at->path) ||
		    facts->look(at->path, facts->data) == PATH_ABSENT)
			continue;
		r = strv_add(ret, at->path);
	}
	return r;
}
