/* SPDX-License-Identifier: MIT */
#include "base/fd.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

int fd_close(int fd)
{
	int saved = errno;

	/* Linux frees the descriptor even on EINTR: never retry. */
	if (fd >= 0)
		close(fd);
	errno = saved;
	return -1;
}

int fd_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int fd_read_all(int fd, size_t max, struct str *ret_text)
{
	_cleanup_(str_release) struct str text = {0};
	char buf[16384];
	int r;

	r = str_append(&text, "");
	while (r == 0) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		if ((size_t)n > max - text.len)
			return -EFBIG;
		r = str_append_bytes(&text, buf, (size_t)n);
	}
	if (r < 0)
		return r;
	str_release(ret_text);
	*ret_text = text;
	text = (struct str){0};
	return 0;
}
