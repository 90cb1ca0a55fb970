/* SPDX-License-Identifier: MIT */
#include "base/tree-remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* The very folder: whoever may change names around it could put a link in its place. */
static int unlock(int at, const char *name)
{
	_cleanup_(fd_closep) int fd = openat(at, name, DIR_FLAGS | O_PATH);
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(fd)];

	if (fd < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return chmod(link, 0700) < 0 ? -errno : 0;
}

int tree_open_dir(int at, const char *name)
{
	int fd = openat(at, name, DIR_FLAGS), r;

	if (fd >= 0 || errno != EACCES || geteuid() == 0)
		return fd < 0 ? -errno : fd;
	r = unlock(at, name);
	if (r < 0)
		return r;
	fd = openat(at, name, DIR_FLAGS);
	return fd < 0 ? -errno : fd;
}

/* A folder that changes its place is written to, for its "..". */
static int move_up(int from, const char *name, int top, unsigned *serial)
{
	char to[32];
	int r;

	do {
		snprintf(to, sizeof(to), ".%u", (*serial)++);
	} while (faccessat(top, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
	if (renameat(from, name, top, to) == 0)
		return 0;
	if (errno != EACCES || geteuid() == 0)
		return -errno;
	r = unlock(from, name);
	if (r < 0)
		return r;
	return renameat(from, name, top, to) < 0 ? -errno : 0;
}

/* Remove the files of FD, which is closed, and move its folders up into TOP. */
static int empty_into(int top, int fd, unsigned *serial)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	int r = 0;

	if (!dir) {
		fd_close(fd);
		return -ENOMEM;
	}
	if (geteuid() != 0)
		(void)fchmod(dirfd(dir), 0700);
	while (r == 0 && (entry = readdir(dir)))
		if (!is_dots(entry->d_name) && unlinkat(dirfd(dir), entry->d_name, 0) < 0 &&
		    unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) < 0)
			r = move_up(dirfd(dir), entry->d_name, top, serial);
	closedir(dir);
	return r;
}

/* One entry of TOP. 1: it held something, so TOP has new entries now. */
static int sweep_one(int top, const char *name, unsigned *serial)
{
	int fd, r;

	if (unlinkat(top, name, 0) == 0 || unlinkat(top, name, AT_REMOVEDIR) == 0)
		return 0;
	fd = tree_open_dir(top, name);
	if (fd < 0)
		return fd;
	r = empty_into(top, fd, serial);
	if (r == 0 && unlinkat(top, name, AT_REMOVEDIR) < 0)
		r = -errno;
	return r < 0 ? r : 1;
}

/* One pass. 1: look again. */
static int sweep(int top, unsigned *serial)
{
	int copy = openat(top, ".", DIR_FLAGS), failed = 0, r;
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	bool again = false;
	struct dirent *entry;

	if (!dir) {
		r = -errno;
		fd_close(copy);
		return r;
	}
	while ((entry = readdir(dir))) {
		r = is_dots(entry->d_name) ? 0 : sweep_one(top, entry->d_name, serial);
		again |= r > 0;
		failed = r < 0 ? r : failed; /* the rest goes all the same */
	}
	closedir(dir);
	return again ? 1 : failed;
}

int tree_empty(int top)
{
	unsigned serial = 0;
	int r;

	if (geteuid() != 0)
		(void)fchmod(top, 0700);
	do
		r = sweep(top, &serial);
	while (r > 0);
	return r;
}

int tree_remove(int parent, const char *name)
{
	_cleanup_(fd_closep) int fd = tree_open_dir(parent, name);
	int r = fd < 0 ? fd : tree_empty(fd);

	if (r == 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0)
		r = -errno;
	return r;
}
