/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>

#include "cli/common.h"

int fd_take(const char *option, const char *text, int *ret_fd, struct err *err)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n > INT_MAX)
		return err_set(err, ERR_USAGE, -EINVAL, "%s: \"%s\" is no number of a descriptor",
			       option, text);
	if (n <= 2)
		return err_set(err, ERR_USAGE, -EINVAL, "%s: 0 to 2 are the command's own", option);
	if (fcntl((int)n, F_SETFD, FD_CLOEXEC) < 0) {
		int r = err_sys(err, -errno, "%s %lu", option, n);

		if (err)
			err->code = ERR_USAGE;
		return r;
	}
	*ret_fd = (int)n;
	return 0;
}
