/* SPDX-License-Identifier: MIT */
/* The real host: what is probed must be so. */
#include "plan/host.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "tap.h"

static bool dir_is_so(const struct host_dir *dir)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (lstat(dir->path, &st) < 0)
		return false;
	if (!dir->link)
		return S_ISDIR(st.st_mode);
	n = readlink(dir->path, target, sizeof(target) - 1);
	return n > 0 && (size_t)n == strlen(dir->link) && memcmp(target, dir->link, (size_t)n) == 0;
}

static const struct host_dir *find(const struct host *host, const char *path)
{
	for (size_t i = 0; i < host->dirs_len; i++)
		if (str_eq(host->dirs[i].path, path))
			return &host->dirs[i];
	return NULL;
}

int main(void)
{
	struct err err = {.message = "untouched"};
	struct host host;
	bool ok = true;

	tap_eq_int(host_probe(&host, &err), 0, "probed");
	tap_eq_str(err.message, "untouched", "success leaves err alone");
	tap_ok(host.uid == geteuid() && host.gid == getegid(), "the caller's ids");
	tap_ok(host.landlock_abi >= 0, "Landlock ABI %d", host.landlock_abi);
	tap_ok(host.dirs_len > 0 && find(&host, "/usr") && find(&host, "/etc"), "/usr and /etc");
	for (size_t i = 0; i < host.dirs_len; i++) {
		ok = ok && dir_is_so(&host.dirs[i]);
		for (size_t k = 0; k < i; k++)
			ok = ok && !str_eq(host.dirs[i].path, host.dirs[k].path);
	}
	tap_ok(ok, "every folder is a folder and every link leads there, once each");
	tap_ok(!find(&host, "/home") && !find(&host, "/root") && !find(&host, "/var") &&
		       !find(&host, "/tmp") && !find(&host, "/proc"),
	       "no folder with data of users or of services is among them");
	ok = true;
	for (size_t i = 0; i < host.files.len; i++)
		ok = ok && host.files.items[i][0] == '/' && access(host.files.items[i], F_OK) == 0;
	tap_ok(ok, "%zu further files exist", host.files.len);
	host_release(&host);
	tap_ok(!host.dirs && !host.dirs_len && !host.files.len, "released");
	host_release(&host);
	return tap_done();
}
