/* SPDX-License-Identifier: MIT */
#include "stage/content.h"

#include <errno.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"

enum { BLOCK = 128 * 1024 };

/* Where both have nothing but holes, from AT on. */
static off_t skip_holes(int a, int b, off_t at, off_t size)
{
	off_t x = lseek(a, at, SEEK_DATA), y;

	if (x < 0)
		x = errno == ENXIO ? size : at;
	y = lseek(b, at, SEEK_DATA);
	if (y < 0)
		y = errno == ENXIO ? size : at;
	x = x < y ? x : y;
	return x - x % BLOCK > at ? x - x % BLOCK : at;
}

int content_equal(int a, int b)
{
	_cleanup_(freep) char *buf = NULL;
	struct stat x, y;

	if (fstat(a, &x) < 0 || fstat(b, &y) < 0)
		return -errno;
	if (x.st_size != y.st_size)
		return 0;
	buf = malloc((size_t)BLOCK * 2);
	if (!buf)
		return -ENOMEM;
	for (off_t at = 0; at < x.st_size; at += BLOCK) {
		ssize_t n, m;

		at = skip_holes(a, b, at, x.st_size);
		n = fd_pread_all(a, buf, BLOCK, at);
		m = n < 0 ? n : fd_pread_all(b, buf + BLOCK, BLOCK, at);
		if (m < 0)
			return (int)m;
		if (n != m || memcmp(buf, buf + BLOCK, (size_t)n) != 0)
			return 0;
		if (n < BLOCK)
			break;
	}
	return 1;
}

int content_digest(int fd, char hex[SHA256_HEX])
{
	_cleanup_(freep) char *buf = malloc(BLOCK);
	struct sha256 hash;

	if (!buf)
		return -ENOMEM;
	sha256_init(&hash);
	for (off_t at = 0;; at += BLOCK) {
		ssize_t n = fd_pread_all(fd, buf, BLOCK, at);

		if (n < 0)
			return (int)n;
		sha256_add(&hash, buf, (size_t)n);
		if (n < BLOCK)
			break;
	}
	sha256_end_hex(&hash, hex);
	return 0;
}

static int write_at(int fd, const char *data, size_t len, off_t at)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, data, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The bytes from AT to END, which are no hole. */
static int copy_range(int from, int to, off_t at, off_t end, char **buf)
{
	while (at < end) {
		off_t in = at, out = at;
		ssize_t n = copy_file_range(from, &in, to, &out, (size_t)(end - at), 0);
		size_t len;

		if (n > 0) {
			at += n;
			continue;
		}
		if (n < 0 &&
		    (errno == EINTR || errno == ENOSPC || errno == EIO || errno == EDQUOT)) {
			if (errno != EINTR)
				return -errno;
			continue;
		}
		/* Not between these two: by hand. */
		if (!*buf)
			*buf = malloc(BLOCK);
		if (!*buf)
			return -ENOMEM;
		n = fd_pread_all(from, *buf, BLOCK, at);
		if (n <= 0)
			return (int)n; /* shorter than it was */
		len = n < end - at ? (size_t)n : (size_t)(end - at);
		n = write_at(to, *buf, len, at);
		if (n < 0)
			return (int)n;
		at += (off_t)len;
	}
	return 0;
}

int content_copy(int from, int to)
{
	_cleanup_(freep) char *buf = NULL;
	struct stat st;
	int r = 0;

	if (fstat(from, &st) < 0)
		return -errno;
	/* What is small is copied as fast as it is shared. */
	if (st.st_size == 0 || (st.st_size > BLOCK && ioctl(to, FICLONE, from) == 0))
		return 0;
	/* The usual file has no hole: no need to ask. */
	if (st.st_blocks * 512 >= st.st_size)
		return copy_range(from, to, 0, st.st_size, &buf);
	if (ftruncate(to, st.st_size) < 0)
		return -errno;
	for (off_t at = 0; at < st.st_size && r == 0;) {
		off_t data = lseek(from, at, SEEK_DATA), hole;

		if (data < 0 && errno == ENXIO)
			break;
		if (data < 0)
			data = at;
		hole = lseek(from, data, SEEK_HOLE);
		if (hole < 0)
			hole = st.st_size;
		r = copy_range(from, to, data, hole, &buf);
		at = hole;
	}
	return r;
}

bool content_is_plain(int dir, const char *name)
{
	char path[32 + NAME_MAX + 1];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir, name);
	return llistxattr(path, NULL, 0) == 0;
}

int content_read(int fd, size_t max, struct str *ret)
{
	str_truncate(ret, 0);
	return fd_read_all(fd, max, ret);
}
