/* SPDX-License-Identifier: MIT */
#include "policy/sensitive.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "config/home-places.h"
#include "config/workspace.h"
#include "policy/protected-names.h"

/* clang-format off */
/* Programs and settings of everybody. */
static const char *const shared[] = {
	"/bin", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/sbin", "/usr",
};

static const char *const system_secrets[] = {
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers",
	"/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private", "/etc/pale", "/etc/krb5.keytab",
	"/etc/wireguard", "/etc/NetworkManager/system-connections", "/etc/cron.d", "/var/spool/cron",
	"/run/docker.sock", "/run/containerd", "/run/podman", "/run/user", "/run/dbus",
	"/run/systemd", "/var/run", "/var/lib/docker", "/var/lib/containers", "/var/lib/containerd",
	"/proc", "/sys", "/dev", "/boot",
};

/* Not as a whole; a folder below may be. */
static const char *const wholes[] = {
	"/bin", "/etc", "/gnu", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/media", "/mnt",
	"/nix", "/opt", "/root", "/run", "/sbin", "/srv", "/tmp", "/usr", "/usr/bin", "/usr/lib",
	"/usr/local", "/usr/sbin", "/usr/share", "/var", "/var/cache", "/var/lib", "/var/log",
	"/var/spool", "/var/tmp",
};
/* clang-format on */

static bool holds(const char *path, const char *dir)
{
	return dir && path_covers(path, dir);
}

static bool overlaps(const char *path, const char *dir)
{
	return dir && (path_covers(path, dir) || path_covers(dir, path));
}

/* ~/.bashrc, ~/.profile, ~/.netrc …: what a home has at its top is read by shells and
 * programs, and a folder there as a whole holds what nobody can list. */
static bool is_dot_of_home(const char *path, const char *home)
{
	size_t len = home ? strlen(home) : 0;

	return home && path_covers(home, path) && path[len] == '/' && path[len + 1] == '.' &&
	       !strchr(path + len + 1, '/');
}

static bool is_whole_home(const char *path)
{
	return strncmp(path, "/home/", 6) == 0 && !strchr(path + 6, '/');
}

static const char *reason(const char *path, const struct user *user)
{
	if (strcmp(path, "/") == 0)
		return "it is the whole filesystem";
	if (holds(path, user->home) || holds(path, user->pw_home))
		return "it holds your whole home";
	if (is_whole_home(path))
		return "it is somebody's whole home";
	if (overlaps(path, user->config_dir) || overlaps(path, user->state_dir))
		return "it holds files of pale itself";
	for (size_t i = 0; i < array_len(wholes); i++)
		if (holds(path, wholes[i]))
			return "it is a folder of the system as a whole";
	for (size_t i = 0; i < array_len(system_secrets); i++)
		if (overlaps(path, system_secrets[i]))
			return "it belongs to the system alone";
	if (holds_credentials(path, user))
		return "credentials are kept there";
	if (is_run_later(path, user, true) || is_dot_of_home(path, user->home) ||
	    is_dot_of_home(path, user->pw_home))
		return "programs outside of the boundary act on what is there";
	return NULL;
}

bool path_is_shared(const char *path)
{
	for (size_t i = 0; i < array_len(shared); i++)
		if (path_covers(shared[i], path))
			return true;
	return false;
}

/* Where DIR really is: a rule names that place. NULL: not known, or no memory. */
static char *real_place(const char *dir)
{
	char *real = NULL;

	return dir && path_resolve(dir, &real) == 0 ? real : NULL;
}

/* A home may be behind a link. */
static const char *reason_of_real(const char *path, const struct user *user)
{
	_cleanup_(freep) char *home = real_place(user->home), *pw_home = real_place(user->pw_home);
	_cleanup_(freep) char *config = real_place(user->config_dir);
	_cleanup_(freep) char *state = real_place(user->state_dir);
	const struct user real = {
		.home = home, .pw_home = pw_home, .config_dir = config, .state_dir = state};

	return reason(path, &real);
}

/* Of what is in ~/.NAME, and for whom, there is no list; caches are known to be obeyed by nobody. */
static bool is_below_dot(const char *path, const char *home)
{
	size_t len = home ? strlen(home) : 0;

	return home && path_covers(home, path) && path[len] == '/' && path[len + 1] == '.' &&
	       !path_covers(".cache", path + len + 1);
}

static bool is_below_dot_of_others(const char *path)
{
	const char *name = str_starts(path, "/home/") ? strchr(path + strlen("/home/"), '/') : NULL;

	return is_below_dot(path, "/root") ||
	       (name && name[1] == '.' && !path_covers(".cache", name + 1));
}

/* Whose folder it is in does not matter: git, an editor or an agent may be started there. */
static bool is_named_protected(const char *path)
{
	for (; path; path = strchr(path + 1, '/'))
		if (path_covers(".git", path + 1) || protected_is_named(path + 1))
			return true;
	return false;
}

bool path_is_obeyed(const char *path, const struct user *user)
{
	_cleanup_(freep) char *home = real_place(user->home), *pw_home = real_place(user->pw_home);

	return is_below_dot(path, user->home) || is_below_dot(path, user->pw_home) ||
	       is_below_dot(path, home) || is_below_dot(path, pw_home) ||
	       is_below_dot_of_others(path) || is_named_protected(path);
}

bool path_is_sensitive(const char *path, const struct user *user, const char **ret_why)
{
	const char *why = reason(path, user);

	if (!why)
		why = reason_of_real(path, user);
	if (why && ret_why)
		*ret_why = why;
	return why != NULL;
}
