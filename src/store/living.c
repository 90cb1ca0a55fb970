/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "store/spool.h"

#define LIVING_NAME "living"

static struct flock lock_of(const char *id, short type)
{
	uint64_t at = 0xcbf29ce484222325; /* FNV-1a */

	for (; *id; id++)
		at = (at ^ (unsigned char)*id) * 0x100000001b3;
	return (struct flock){
		.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(at >> 2), .l_len = 1};
}

/* The lock belongs to the open file, not to the process: a child that closes its copy
 * does not end it. */
int living_take(int state, const char *id)
{
	_cleanup_(fd_closep) int fd = openat(state, LIVING_NAME,
					     O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
					     S_IRUSR | S_IWUSR);
	struct flock lock = lock_of(id, F_WRLCK);

	if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) < 0)
		return -errno;
	return take_fd(fd);
}

bool living_is(int state, const char *id)
{
	_cleanup_(fd_closep) int fd = openat(state, LIVING_NAME,
					     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct flock lock = lock_of(id, F_RDLCK);

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}
