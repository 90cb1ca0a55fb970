/* SPDX-License-Identifier: MIT */
#include "stage/roots.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "stage/stage.h"

int root_open_path(const char *path, int *ret_fd, struct err *err)
{
	_cleanup_(fd_closep) int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = top < 0 ? -errno : 0;

	path += strspn(path, "/");
	if (fd == 0)
		fd = path_open_nolink(top, *path ? path : ".", O_PATH | O_DIRECTORY, 0);
	if (fd < 0)
		return err_sys(err, fd, "open /%s", path);
	*ret_fd = fd;
	return 0;
}

int root_open(const struct stage *stage, unsigned root, int *ret_fd, struct err *err)
{
	if (root >= stage->n_roots)
		return err_set(err, ERR_SYSTEM, -EINVAL, "stage %s has no root %u", stage->name,
			       root);
	return root_open_path(stage->roots[root].path, ret_fd, err);
}
