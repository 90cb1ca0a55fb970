/* SPDX-License-Identifier: MIT */
#include "base/private-dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"

/* By name: above the folder the user's own links are fine. */
static int make_dirs(const char *path, struct err *err)
{
	_cleanup_(freep) char *dir = strdup(path);

	if (!dir)
		return err_oom(err);
	for (char *p = strchr(dir + 1, '/');; p = strchr(p + 1, '/')) {
		if (p)
			*p = '\0';
		if (mkdir(dir, 0700) < 0 && errno != EEXIST)
			return err_sys(err, -errno, "make the folder %s", dir);
		if (!p)
			return 0;
		*p = '/';
	}
}

int private_dir_open(const char *path, bool create, struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;
	int r;

	if (create) {
		r = make_dirs(path, err);
		if (r < 0)
			return r;
	}
	fd = fd_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT && !create)
		return -ENOENT;
	if (fd < 0)
		return err_sys(err, -errno, "open the folder %s", path);
	if (fstat(fd, &st) < 0)
		return err_sys(err, -errno, "stat %s", path);
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH))) {
		err_set(err, ERR_SYSTEM, -EPERM, "%s is not yours alone", path);
		if (st.st_uid != geteuid())
			return err_hint(
				err, -EPERM,
				"it belongs to uid %u: look at what is in it, then remove it",
				st.st_uid);
		return err_hint_word(err, -EPERM,
				     "look at what is in it, then remove it or: chmod go-w ", path,
				     "");
	}
	return take_fd(fd);
}
