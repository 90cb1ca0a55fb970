/* SPDX-License-Identifier: MIT */
#include "warden/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/tree-remove.h"
#include "plan/plan.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

enum { TRIES = 3, TRIES_MAKE = 16, TRIES_LEFT = 200, PAUSE_NS = 5000000 };

const char *scratch_path(const struct plan *plan)
{
	for (size_t i = 0; i < plan->ops_len; i++)
		if (plan->ops[i].kind == OP_SCRATCH)
			return plan->ops[i].dst;
	return NULL;
}

/* What fails once may not fail again. */
static bool remove_locked(int parent, const char *name, int fd)
{
	for (int i = 0; i < TRIES; i++) {
		(void)tree_empty(fd);
		if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return true;
	}
	return false;
}

static bool is_ours(uid_t uid, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == uid);
}

static bool has_name(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* What others of this user left: folders of that name that nobody has locked. */
static void remove_stale(const struct plan *plan, int parent, const char *own)
{
	size_t prefix = (size_t)(strrchr(own, '-') - own) + 1;
	int copy = openat(parent, ".", DIR_FLAGS);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		_cleanup_(fd_closep) int fd = -1;

		if (strncmp(entry->d_name, own, prefix) != 0 || str_eq(entry->d_name, own))
			continue;
		fd = tree_open_dir(parent, entry->d_name);
		if (fd >= 0 && is_ours(plan->uid, fd) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
		    has_name(fd))
			(void)remove_locked(parent, entry->d_name, fd);
	}
	if (dir)
		closedir(dir);
}

static int open_parent(const char *path, const char **ret_name)
{
	char parent[64];
	int fd;

	*ret_name = strrchr(path, '/') + 1;
	snprintf(parent, sizeof(parent), "%.*s", (int)(*ret_name - path - 1), path);
	fd = open(parent, DIR_FLAGS);
	return fd < 0 ? -errno : fd;
}

/* Whoever has it took it for a left-over and removes it by its name: only when that
 * is over can the name be used again. */
static int lock_new(int fd)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (int i = 0; i < TRIES_LEFT; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return has_name(fd) ? 0 : -EAGAIN;
		if (errno != EWOULDBLOCK)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return -ETIMEDOUT;
}

static int take_new(const struct plan *plan, int parent, const char *name)
{
	_cleanup_(fd_closep) int fd = openat(parent, name, DIR_FLAGS);
	struct stat st;
	int r = fd < 0 ? -errno : lock_new(fd);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid())
		return -EPERM;
	if (plan->idmap == IDMAP_SWITCH && fchown(fd, plan->uid, plan->gid) < 0)
		return -errno;
	return take_fd(fd);
}

static int make_locked(const struct plan *plan, int parent, const char *name)
{
	int fd;

	if (mkdirat(parent, name, 0700) < 0)
		return -errno;
	fd = take_new(plan, parent, name);
	if (fd < 0)
		(void)unlinkat(parent, name, AT_REMOVEDIR);
	return fd;
}

int scratch_make(const struct plan *plan, struct scratch *ret, struct err *err)
{
	const char *name, *path = scratch_path(plan);
	_cleanup_(fd_closep) int parent = -1;
	int fd = -EAGAIN;

	if (!path)
		return 0;
	parent = open_parent(path, &name);
	if (parent < 0)
		return err_sys(err, parent, "a place for temporary files");
	remove_stale(plan, parent, name);
	for (int i = 0; i < TRIES_MAKE && (fd == -EAGAIN || fd == -ENOENT); i++)
		fd = make_locked(plan, parent, name);
	if (fd < 0)
		return err_sys(err, fd, "make %s for temporary files", path);
	*ret = (struct scratch){.fd = fd, .parent = take_fd(parent)};
	return 0;
}

void scratch_remove(const struct plan *plan, struct scratch *scratch)
{
	if (scratch->fd >= 0)
		(void)remove_locked(scratch->parent, strrchr(scratch_path(plan), '/') + 1,
				    scratch->fd);
	fd_close(scratch->fd);
	fd_close(scratch->parent);
	*scratch = SCRATCH_NONE;
}

void scratch_remove_left(const char *path)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	const char *name;
	_cleanup_(fd_closep) int parent = open_parent(path, &name);
	_cleanup_(fd_closep) int fd = parent < 0 ? -1 : tree_open_dir(parent, name);

	bool locked = false;

	if (fd < 0 || !is_ours(geteuid(), fd))
		return;
	/* Who was killed may still be on its way out, and the supervisor's lock with it. */
	for (int i = 0; i < TRIES_LEFT; i++) {
		locked = locked || flock(fd, LOCK_EX | LOCK_NB) == 0;
		if (locked && remove_locked(parent, name, fd))
			return;
		nanosleep(&pause, NULL);
	}
}
