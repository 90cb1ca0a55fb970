/* SPDX-License-Identifier: MIT */
#include "stage/roots.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "stage/access.h"
#include "stage/stage.h"

int root_open_path(const char *path, int *ret_fd, struct err *err)
{
	_cleanup_(fd_closep) int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = top < 0 ? -errno : 0;

	path += strspn(path, "/");
	if (fd == 0)
		fd = path_open_nolink(top, *path ? path : ".", O_PATH | O_DIRECTORY, 0);
	if (fd < 0)
		err_sys(err, fd, "open /%s, in which something is staged", path);
	if (fd == -ENOENT)
		err_hint(err, fd,
			 "make that folder again, and what is staged there can be applied "
			 "or discarded");
	if (fd < 0)
		return fd;
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

bool root_holds_nothing(const struct stage *stage, unsigned root)
{
	_cleanup_(fd_closep) int upper = -1;
	int r = stage_read_upper(stage, root, &upper);

	return r == -ENOENT || (r == 0 && dir_is_empty(upper));
}

int root_open_both(const struct stage *stage, unsigned root, int *ret_upper, int *ret_base,
		   struct err *err)
{
	_cleanup_(fd_closep) int upper = -1;
	struct err failed = {0};
	int r = stage_upper(stage, root, &upper, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = root_open(stage, root, ret_base, &failed);
	if (r == -ENOENT && root_holds_nothing(stage, root))
		return 0;
	if (r < 0) {
		if (err)
			*err = failed;
		return r;
	}
	*ret_upper = take_fd(upper);
	return 1;
}
