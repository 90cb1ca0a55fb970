/* SPDX-License-Identifier: MIT */
#include "config/caches.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "config/state-dir.h"
#include "config/workspace.h"

#define CACHES "caches"

char *cache_dir(const struct workspace *workspace, const char *path)
{
	_cleanup_(freep) char *base = workspace->state_dir ? path_join(workspace->state_dir, CACHES)
							   : NULL;

	return base ? state_name(base, path) : NULL;
}

/* A folder NAME in DIR that is a folder and nothing else. */
static int make_dir(int dir, const char *name, struct err *err)
{
	struct stat st;
	int fd;

	if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
		return err_sys(err, -errno, "make the cache %s", name);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* A command can close its cache, but not for those that come later. */
	if (fd < 0 && errno == EACCES && fchmodat(dir, name, 0700, 0) == 0)
		fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
		(void)fchmod(fd, st.st_mode | 0700);
	return fd < 0 ? err_sys(err, -errno, "open the cache %s", name) : fd;
}

/* Root makes it for whom the command will be. */
static int give_to(int fd, uid_t uid, gid_t gid, struct err *err)
{
	struct stat st;

	if (geteuid() != 0)
		return 0;
	if (fstat(fd, &st) < 0 ||
	    ((st.st_uid != uid || st.st_gid != gid) && fchown(fd, uid, gid) < 0))
		return err_sys(err, -errno, "give the cache to its user");
	return 0;
}

int caches_make(const struct workspace *workspace, const struct strv *paths, uid_t uid, gid_t gid,
		struct err *err)
{
	_cleanup_(fd_closep) int state = -1;
	_cleanup_(fd_closep) int caches = -1;
	int r = 0;

	if (paths->len == 0)
		return 0;
	state = state_dir_open(workspace, true, err);
	if (state < 0)
		return state;
	caches = make_dir(state, CACHES, err);
	if (caches < 0)
		return caches;
	for (size_t i = 0; i < paths->len && r == 0; i++) {
		_cleanup_(freep) char *path = cache_dir(workspace, paths->items[i]);
		_cleanup_(fd_closep) int fd = -1;

		if (!path)
			return err_oom(err);
		fd = make_dir(caches, path_basename(path), err);
		r = fd < 0 ? fd : give_to(fd, uid, gid, err);
	}
	return r;
}
