/* SPDX-License-Identifier: MIT */
#include "store/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/crc32.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"

#define MARK   "P1 "
#define HEADER (sizeof(MARK) - 1 + 9) /* with the CRC and a blank */
#define MODE   (S_IRUSR | S_IWUSR)

enum {
	LOCK_STEP_US = 50,
	LOCK_STEP_MAX_US = 10000,
	LOCK_WAIT_US = 500000,
	REOPENS_MAX = 64,
};

int spool_line_begin(struct str *line)
{
	return str_append(line, "\n" MARK "00000000 ");
}

int spool_line_end(struct str *line)
{
	const char *json = line->data + 1 + HEADER;
	char crc[9];
	int r;

	snprintf(crc, sizeof(crc), "%08" PRIx32, crc32_of(json, line->len - 1 - HEADER));
	memcpy(line->data + sizeof(MARK), crc, 8);
	r = str_append_char(line, '\n');
	return r < 0 ? r : line->len > SPOOL_RECORD_MAX ? -EFBIG : 0;
}

bool spool_line_open(const char *line, size_t len, const char **ret_json, size_t *ret_len)
{
	char crc[9];

	if (len <= HEADER || len + 2 > SPOOL_RECORD_MAX ||
	    memcmp(line, MARK, sizeof(MARK) - 1) != 0 || line[HEADER - 1] != ' ')
		return false;
	snprintf(crc, sizeof(crc), "%08" PRIx32, crc32_of(line + HEADER, len - HEADER));
	if (memcmp(line + sizeof(MARK) - 1, crc, 8) != 0)
		return false;
	*ret_json = line + HEADER;
	*ret_len = len - HEADER;
	return true;
}

/* flock(2) may wait for as long as a stopped process likes. */
static int lock(int fd, int how)
{
	unsigned step = LOCK_STEP_US, waited = 0;

	while (flock(fd, how | LOCK_NB) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK || waited >= LOCK_WAIT_US)
			return errno == EWOULDBLOCK ? -EBUSY : -errno;
		nanosleep(&(struct timespec){.tv_nsec = step * 1000L}, NULL);
		waited += step;
		step = step * 2 > LOCK_STEP_MAX_US ? LOCK_STEP_MAX_US : step * 2;
	}
	return 0;
}

/* Whether the name still leads to FD: 1, 0 or -errno. */
static int is_current(int state, int fd)
{
	struct stat have, there;

	if (fstat(fd, &have) < 0)
		return -errno;
	if (!S_ISREG(have.st_mode))
		return -EINVAL;
	if (fstatat(state, SPOOL_NAME, &there, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	return have.st_dev == there.st_dev && have.st_ino == there.st_ino;
}

int spool_lock(int state, int how, bool create, struct err *err)
{
	int flags = (create ? O_WRONLY | O_APPEND | O_CREAT : O_RDWR) | O_NOFOLLOW | O_NONBLOCK |
		    O_NOCTTY | O_CLOEXEC;
	int r = 0;

	for (int i = 0; i < REOPENS_MAX; i++) {
		_cleanup_(fd_closep) int fd = openat(state, SPOOL_NAME, flags, MODE);

		if (fd < 0 && errno == ENOENT && !create)
			return -ENOENT;
		if (fd < 0)
			return err_sys(err, -errno, "open the spool");
		r = lock(fd, how);
		if (r < 0)
			return err_sys(err, r, "lock the spool");
		r = is_current(state, fd);
		if (r < 0)
			return err_sys(err, r, "the spool");
		if (r > 0)
			return take_fd(fd);
	}
	return err_set(err, ERR_SYSTEM, -EBUSY, "the spool is replaced all the time");
}

/* Past the limit on a file's size the kernel would end us, not merely refuse. */
static int check_limit(int fd, size_t len)
{
	struct rlimit limit;
	struct stat st;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	return (rlim_t)st.st_size + len > limit.rlim_cur ? -EFBIG : 0;
}

static int put(int fd, const struct str *line, struct err *err)
{
	int r = check_limit(fd, line->len);
	ssize_t n;

	if (r < 0)
		return err_sys(err, r, "write the spool");
	do {
		n = write(fd, line->data, line->len);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(err, -errno, "write the spool");
	/* The rest would come behind what others wrote meanwhile. */
	return (size_t)n == line->len ? 0 : err_sys(err, -ENOSPC, "write the spool");
}

int spool_append(int state, const struct str *line, struct err *err)
{
	_cleanup_(fd_closep) int fd = spool_lock(state, LOCK_SH, true, err);

	return fd < 0 ? fd : put(fd, line, err);
}

int spool_append_kept(int state, int *kept, const struct str *line, struct err *err)
{
	int r;

	/* Who has locked it may have renamed it, too: that is found out by the name. */
	if (*kept >= 0 && (flock(*kept, LOCK_SH | LOCK_NB) < 0 || is_current(state, *kept) <= 0))
		*kept = fd_close(*kept);
	if (*kept < 0)
		*kept = spool_lock(state, LOCK_SH, true, err);
	if (*kept < 0)
		return *kept;
	r = put(*kept, line, err);
	(void)flock(*kept, LOCK_UN);
	return r;
}
