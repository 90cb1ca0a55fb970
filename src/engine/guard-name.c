/* SPDX-License-Identifier: MIT */
#include "engine/guard-name.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"

enum {
	LOOKS = 100, /* at a name that should leave */
	NAP_NS = 1000000,
	SETTLED_S = 3, /* more than between two ticks of any file system's clock */
};

int name_look(int dir, const char *name, struct stat *ret)
{
	if (fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

void name_open_folder(int dir)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	if (fstat(dir, &st) == 0 && S_ISDIR(st.st_mode))
		(void)chmod(path, (st.st_mode & 07777) | S_IRWXU);
}

/* Somebody who is not stopped yet may close it once more, and a disk may answer again. */
int name_look_behind(int dir, const char *name, struct stat *ret)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	int r = name_look(dir, name, ret);

	for (int i = 0; i < LOOKS && r < 0; i++) {
		if (i > 0)
			(void)nanosleep(&nap, NULL);
		if (r == -EACCES)
			name_open_folder(dir);
		r = name_look(dir, name, ret);
	}
	return r;
}

static bool is_at(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool name_may_have_left(int dir, const char *name, const struct timespec *since)
{
	struct stat st;

	return name_look(dir, name, &st) == 1 && !S_ISDIR(st.st_mode) && !is_at(&st.st_ctim, since);
}

/* Whatever comes or goes changes a folder's own time, which nobody can set. But where that
 * was just before the look, something may have come after it, at the same tick. */
bool glance_finds_same(struct glance *glance, int dir)
{
	struct timespec now = clock_now(CLOCK_REALTIME);
	struct stat st;
	bool same;

	if (fstat(dir, &st) < 0) {
		glance->settled = false;
		return false;
	}
	same = glance->settled && is_at(&st.st_ctim, &glance->changed);
	glance->changed = st.st_ctim;
	glance->settled = now.tv_sec - st.st_ctim.tv_sec > SETTLED_S;
	return same;
}

bool name_is(const struct file_id *a, const struct file_id *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

static bool is_of(const struct stat *st, const struct file_id *id)
{
	return st->st_dev == id->dev && st->st_ino == id->ino;
}

int name_hold(int dir, const char *name, const struct file_id *id, struct stat *ret)
{
	_cleanup_(fd_closep) int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !is_of(&st, id))
		return -1;
	*ret = st;
	return take_fd(fd);
}

bool name_leaves(int dir, const char *name, const struct file_id *id)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	struct stat st;

	for (int i = 0; i < LOOKS; i++) {
		int r = name_look(dir, name, &st);

		if (r == 0 || (r == 1 && !is_of(&st, id)))
			return true;
		(void)nanosleep(&nap, NULL);
	}
	return false;
}

bool name_may_have_writer(int dir, const char *name)
{
	_cleanup_(fd_closep) int fd = openat(dir, name,
					     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return true;
	if (S_ISDIR(st.st_mode))
		return false;
	if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return true;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	return false;
}

bool name_is_link(int dir, const char *name, const char *target)
{
	char link[PATH_MAX];
	ssize_t n = readlinkat(dir, name, link, sizeof(link) - 1);

	if (n < 0)
		return false;
	link[n] = '\0';
	return strcmp(link, target) == 0;
}

bool name_may_be(const char *name, const char *reported)
{
	if (strcasecmp(reported, name) == 0)
		return true;
	for (; *reported; reported++)
		if ((unsigned char)*reported >= 0x80)
			return true;
	return false;
}
