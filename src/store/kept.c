/* SPDX-License-Identifier: MIT */
#include "store/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"

static int open_dir(int state)
{
	int fd = openat(state, KEPT_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* An id is a name of ours, but it also comes from the command line. */
static bool is_name(const char *id)
{
	return *id && *id != '.' && !strchr(id, '/');
}

int kept_make(int state, const char *id, struct err *err)
{
	_cleanup_(fd_closep) int dir = -1;
	int fd;

	if (mkdirat(state, KEPT_DIR, 0700) < 0 && errno != EEXIST)
		return err_sys(err, -errno, "make the folder for output");
	dir = open_dir(state);
	if (dir < 0)
		return err_sys(err, dir, "open the folder for output");
	fd = openat(dir, id, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? err_sys(err, -errno, "make the file for output") : fd;
}

int kept_open(int state, const char *id, struct err *err)
{
	_cleanup_(fd_closep) int dir = open_dir(state);
	int fd;

	if (dir == -ENOENT || !is_name(id))
		return -ENOENT;
	if (dir < 0)
		return err_sys(err, dir, "open the folder for output");
	fd = openat(dir, id, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ENOENT : err_sys(err, -errno, "open the kept output");
	return fd;
}

void kept_remove(int state, const char *id)
{
	_cleanup_(fd_closep) int dir = open_dir(state);

	if (dir >= 0 && is_name(id))
		(void)unlinkat(dir, id, 0);
}

void kept_expire(int state, uint64_t before_ms)
{
	int fd = open_dir(state);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;

	if (!dir) {
		if (fd >= 0)
			fd_close(fd);
		return;
	}
	while ((entry = readdir(dir)))
		if (is_name(entry->d_name) &&
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) &&
		    (uint64_t)st.st_mtim.tv_sec * 1000 + (uint64_t)st.st_mtim.tv_nsec / 1000000 <
			    before_ms)
			(void)unlinkat(fd, entry->d_name, 0);
	closedir(dir);
}
