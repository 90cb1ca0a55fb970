/* SPDX-License-Identifier: MIT */
#include "stage/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "stage/stage.h"

enum { FREE = '-', SLOTS_MAX = 16384 };

int slots_open(struct stage *stage, struct err *err)
{
	struct stat st;

	if (stage->mount_lock_fd >= 0)
		return 0;
	stage->mount_lock_fd = openat(stage->dir_fd, "mount-lock",
				      O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (stage->mount_lock_fd < 0 || fstat(stage->mount_lock_fd, &st) < 0)
		return err_sys(err, -errno, "open the mount lock of stage %s", stage->name);
	if (!S_ISREG(st.st_mode) || st.st_size > (off_t)SLOTS_MAX * SLOT_SIZE)
		return err_set(err, ERR_SYSTEM, -EBADMSG, "stage %s: %s/mount-lock is damaged",
			       stage->name, stage->path ? stage->path : "");
	return 0;
}

static int write_slot(const struct stage *stage, unsigned number, const char *data, size_t len)
{
	ssize_t n;

	do {
		n = pwrite(stage->mount_lock_fd, data, len, (off_t)number * SLOT_SIZE);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -ENOSPC;
}

int slots_read(const struct stage *stage, unsigned number, char ret[SLOT_SIZE], struct err *err)
{
	ssize_t n;

	do {
		n = pread(stage->mount_lock_fd, ret, SLOT_SIZE - 1, (off_t)number * SLOT_SIZE);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(err, -errno, "look for the runs of stage %s", stage->name);
	ret[n] = '\0';
	if (ret[0] && ret[0] != FREE)
		return 1;
	return n < SLOT_SIZE - 1 ? -ENOENT : 0; /* the last one is shorter */
}

static struct flock lock_of(unsigned number)
{
	return (struct flock){.l_type = F_WRLCK,
			      .l_whence = SEEK_SET,
			      .l_start = (off_t)number * SLOT_SIZE,
			      .l_len = 1};
}

bool slots_is_held(const struct stage *stage, unsigned number)
{
	struct flock lock = lock_of(number);

	return fcntl(stage->mount_lock_fd, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

/* -EAGAIN: it is somebody's. One that is free may still be locked: its run is about to end. */
static int try_slot(const struct stage *stage, unsigned number, struct err *err)
{
	struct flock lock = lock_of(number);
	char text[SLOT_SIZE];
	int r = slots_read(stage, number, text, err);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 1)
		return -EAGAIN;
	if (fcntl(stage->mount_lock_fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

int slots_take(struct stage *stage, const char *run_id, struct err *err)
{
	unsigned number = 0;
	int r;

	do
		r = try_slot(stage, number++, err);
	while (r == -EAGAIN);
	if (r == 0)
		r = slots_write(stage, --number, run_id, "");
	if (r < 0 && !err->message[0])
		return err_sys(err, r, "stage %s: write down the run", stage->name);
	if (r == 0)
		stage->slot = (int)number;
	return r;
}

int slots_write(const struct stage *stage, unsigned number, const char *run_id, const char *more)
{
	char text[SLOT_SIZE];
	int len = snprintf(text, sizeof(text), "%s%s\n", run_id, more);

	if (len >= SLOT_SIZE - 1)
		return -E2BIG;
	/* With its end: what was there may have been longer. */
	return write_slot(stage, number, text, (size_t)len + 1);
}

int slots_clear(const struct stage *stage, unsigned number)
{
	const char mark = FREE;

	return write_slot(stage, number, &mark, 1);
}
