/* SPDX-License-Identifier: MIT */
#include "plan/host.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/sys.h"

/* What every sandbox sees of the system, read-only. Links stay links. */
static const char *const system_dirs[] = {
	"/usr",    "/bin", "/sbin", "/lib", "/lib32", "/lib64",
	"/libx32", "/etc", "/opt",  "/nix", "/gnu",   "/sys/devices/system",
};

static int probe_dir(struct host *host, const char *path, struct err *err)
{
	struct host_dir *dir = &host->dirs[host->dirs_len];
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (n < 0 && errno != EINVAL) /* EINVAL: it is no link */
		return err_sys(err, -errno, "look at %s", path);
	dir->path = path;
	if (n >= 0) {
		target[n] = '\0';
		dir->link = strdup(target);
		if (!dir->link)
			return err_oom(err);
	}
	host->dirs_len++;
	return 0;
}

/* Where PATH leads, or would if that were there; *ret stays NULL when it is not there itself. */
static int find_file(const char *path, char **ret, bool *ret_is_link)
{
	char link[1];

	*ret_is_link = readlink(path, link, sizeof(link)) >= 0;
	if (*ret_is_link)
		return path_resolve(path, ret) == -ENOMEM ? -ENOMEM : 0;
	if (errno == ENOENT || errno == ENOTDIR)
		return 0;
	*ret = strdup(path);
	return *ret ? 0 : -ENOMEM;
}

/* resolv.conf is often a link to a folder that is not shown otherwise. */
static int probe_resolver(struct host *host, struct err *err)
{
	_cleanup_(freep) char *real = NULL;
	bool is_link, hosts_is_link;

	if (find_file("/etc/resolv.conf", &host->resolv_conf, &is_link) < 0 ||
	    find_file("/etc/hosts", &host->hosts, &hosts_is_link) < 0)
		return err_oom(err);
	if (!is_link)
		return 0;
	real = realpath("/etc/resolv.conf", NULL);
	host->resolv_conf_dangles = !real;
	if (!real || path_covers("/etc", real) || path_covers("/usr", real))
		return 0;
	return strv_add(&host->files, real) < 0 ? err_oom(err) : 0;
}

/* Linux 6.6 gave tmpfs the attributes in which an overlay notes what is gone. */
static bool lacks_tmpfs_xattr(void)
{
	struct utsname name;
	char *end;
	long major, minor;

	if (uname(&name) < 0)
		return true;
	major = strtol(name.release, &end, 10);
	minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
	return major < 6 || (major == 6 && minor < 6);
}

/* Those of an ordinary user cannot be dropped, not even in a user namespace. */
static bool has_groups(gid_t own)
{
	gid_t groups[64];
	int n = getgroups(array_len(groups), groups);

	for (int i = 0; i < n; i++)
		if (groups[i] != own)
			return true;
	return n < 0;
}

/* What cannot be looked at counts as one: hiding it fails then, and so does the
 * run. A link leads to what is hidden anyway, or nowhere. */
static bool is_file(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno != ENOENT && errno != ENOTDIR;
	return S_ISREG(st.st_mode);
}

int host_probe(struct host *ret, struct err *err)
{
	struct host host = {
		.uid = geteuid(), .gid = getegid(), .no_tmpfs_xattr = lacks_tmpfs_xattr()};
	int r = 0;

	host.has_groups = host.uid != 0 && has_groups(host.gid);
	host.has_machine_id = is_file(MACHINE_ID);
	host.landlock_abi = sys_landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (host.landlock_abi < 0)
		host.landlock_abi = 0;
	host.dirs = calloc(array_len(system_dirs), sizeof(*host.dirs));
	if (!host.dirs)
		return err_oom(err);
	for (size_t i = 0; i < array_len(system_dirs) && r == 0; i++)
		r = probe_dir(&host, system_dirs[i], err);
	if (r == 0)
		r = probe_resolver(&host, err);
	if (r == 0)
		r = cgroup_site_probe(host.uid, &host.cgroup, err);
	if (r < 0) {
		host_release(&host);
		return r;
	}
	*ret = host;
	return 0;
}

void host_release(struct host *host)
{
	for (size_t i = 0; i < host->dirs_len; i++)
		free(host->dirs[i].link);
	free(host->dirs);
	strv_release(&host->files);
	free(host->resolv_conf);
	free(host->hosts);
	free(host->bwrap);
	cgroup_site_release(&host->cgroup);
	*host = (struct host){0};
}
