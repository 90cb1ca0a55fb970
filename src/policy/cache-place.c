/* SPDX-License-Identifier: MIT */
#include "policy/cache-place.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "config/user.h"
#include "policy/protected-names.h"

static const struct {
	const char *path;
	unsigned names;
} folders[] = {
	{".cache", 1},          {".npm", 0},
	{".cargo/registry", 0}, {".cargo/git", 0},
	{"go/pkg", 0},          {".gradle/caches", 0},
	{".gradle/wrapper", 0}, {".m2/repository", 0},
	{".ivy2", 0},           {".sbt", 0},
	{".ccache", 0},         {".nuget/packages", 0},
	{".pub-cache", 0},      {".bun/install/cache", 0},
	{".pnpm-store", 0},     {".local/share/pnpm", 0},
	{".local/share/uv", 0}, {".yarn/berry", 0},
	{".yarn/cache", 0},     {".node-gyp", 0},
	{".conda/pkgs", 0},     {".stack", 0},
	{".cabal/packages", 0},
};

/* Nobody looks for programs or settings there. */
static const char *const anybodys[] = {"/tmp", "/var/tmp", "/var/cache"};

const char *cache_folder_of(const char *name, unsigned *ret_names)
{
	for (size_t i = 0; i < array_len(folders); i++) {
		if (!path_covers(folders[i].path, name))
			continue;
		*ret_names = folders[i].names;
		return folders[i].path;
	}
	return NULL;
}

/* PATH as it is called in DIR; NULL: it is elsewhere, or DIR itself. */
static const char *name_in(const char *dir, const char *path)
{
	if (!dir || !path_covers(dir, path))
		return NULL;
	path += strlen(dir);
	return *path == '/' ? path + 1 : NULL;
}

/* Git takes orders from a repository, wherever it is. */
static bool has_repository(const char *name)
{
	for (size_t len; *name; name += len + (name[len] == '/')) {
		len = strcspn(name, "/");
		if (len == 4 && strncmp(name, ".git", 4) == 0)
			return true;
	}
	return false;
}

bool cache_place_is_usual(const char *path, const char *root, const struct user *user)
{
	const char *name = name_in(root, path);
	unsigned names;

	if (name)
		return !protected_is_alike(name) && !has_repository(name);
	name = name_in(user->home, path);
	if (!name)
		name = name_in(user->pw_home, path);
	if (name)
		return cache_folder_of(name, &names) != NULL;
	for (size_t i = 0; i < array_len(anybodys); i++)
		if (name_in(anybodys[i], path))
			return true;
	return false;
}
